import { ForwardedPort, type NodeClient } from '@kubus/node-client';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';

/**
 * Forwards a local connection to a port of a pod. Each direction ends on its own where the runtime supports it (containerd ends both one
 * second after the client's end). When the pod's side breaks off, the local connection is reset, so that its peer does not take the data
 * for complete.
 *
 * @param local must have been opened with `allowHalfOpen`
 * @returns the error that the pod's side reported, if any
 * @throws NodeClientError when the node cannot reach the pod
 */
export async function forwardConnection(
  local: Socket,
  client: NodeClient,
  pod: { readonly namespace: string; readonly name: string },
  port: number,
): Promise<string | undefined> {
  // An error is followed by `close`, which `finished` below reports.
  local.on('error', () => undefined);
  const forwarded = await ForwardedPort.open(client, pod, port);
  const { data, problem } = forwarded;
  // Registered before `pipe`, which would forward a broken stream as a regular end.
  data.once('end', () => {
    if (data.cut) local.resetAndDestroy();
  });
  void problem.then((reported) => {
    if (reported !== undefined) local.resetAndDestroy();
  });
  local.pipe(data).pipe(local);
  const both = () => Promise.all([finished(data), problem]);
  // A local side that closed early does not wait for the pod's side.
  await finished(local)
    .then(both)
    .catch(() => undefined);
  await forwarded.close();
  return problem;
}
