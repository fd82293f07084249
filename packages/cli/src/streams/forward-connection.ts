import { ForwardedPort, type NodeClient } from '@kubus/node-client';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';

/**
 * Connects a connection of this machine with a port of a pod. Each direction ends by itself as far as the runtime has it so
 * (containerd ends both a second after the client's). Where the pod's side breaks off, the local one is reset, so that nobody
 * takes what came for all.
 *
 * @param local must allow to be half open
 * @returns what the pod's side said went wrong
 *
 * Rejects with a NodeClientError when the node does not reach the pod.
 */
export async function forwardConnection(
  local: Socket,
  client: NodeClient,
  pod: { readonly namespace: string; readonly name: string },
  port: number,
): Promise<string | undefined> {
  // Its end tells what its error would.
  local.on('error', () => undefined);
  const forwarded = await ForwardedPort.open(client, pod, port);
  const { data, problem } = forwarded;
  // Before the end is passed on: it would be taken for one.
  data.once('end', () => {
    if (data.cut) local.resetAndDestroy();
  });
  void problem.then((said) => {
    if (said !== undefined) local.resetAndDestroy();
  });
  local.pipe(data).pipe(local);
  const both = () => Promise.all([finished(data), problem]);
  // Whoever has left before the end waits for nothing more.
  await finished(local)
    .then(both)
    .catch(() => undefined);
  await forwarded.close();
  return problem;
}
