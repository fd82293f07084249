import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type TLSSocket, connect } from 'node:tls';
import { failure, type KubeObject } from '@kubus/kube-objects';
import { toError } from '@kubus/ports';
import type { Kubelet } from './kubelet.ts';
import { containerOf } from './pod-log.ts';
import { isSet, type RequestInfo } from './request-info.ts';

/** A connection that its client wants to upgrade to another protocol. */
export interface UpgradedConnection {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

const kinds: Readonly<Record<string, string>> = { exec: 'exec', attach: 'attach', portforward: 'portForward' };
/** The names of the API's parameters in the node's API. */
const names: Readonly<Record<string, string>> = { stdin: 'input', stdout: 'output', stderr: 'error', ports: 'port' };
/** Those that are set or not; the node takes only 1 for one that is. */
const flags: ReadonlySet<string> = new Set(['stdin', 'stdout', 'stderr', 'tty']);

/** Whether a request is for a stream of a pod. */
export function isPodStream({ plural, group, subresource }: RequestInfo): boolean {
  return group === '' && plural === 'pods' && kinds[subresource] !== undefined;
}

/**
 * Passes a stream of a pod on to its node as the API server's own client, without understanding any of it. A real API
 * server uses SPDY to nodes for clients with WebSockets; this one leaves the protocol to the node. Source:
 * pkg/registry/core/pod.
 *
 * @param path see {@link streamPath}.
 * @throws StatusError 500 when the node does not answer.
 */
export async function passStream(
  path: string,
  { address, client }: Kubelet,
  { request, socket, head }: UpgradedConnection,
): Promise<void> {
  // Node.js has allowHalfOpen without a type for it.
  const options = {
    ...address,
    cert: client.certificate,
    key: client.key,
    rejectUnauthorized: false,
    allowHalfOpen: true,
  };
  let kubelet: TLSSocket;
  try {
    kubelet = connect({ ...options });
    await once(kubelet, 'secureConnect');
  } catch (error) {
    const why = toError(error).message;
    throw failure(500, 'InternalError', `error dialing backend: https://${address.host}:${address.port}: ${why}`, {});
  }
  socket.once('error', () => kubelet.destroy()).once('close', () => kubelet.destroy());
  // The client still gets what the node sent before it disconnected.
  kubelet.once('error', () => socket.end()).once('close', () => socket.end());
  kubelet.write(
    `${[`${request.method ?? 'POST'} ${path} HTTP/1.1`, `Host: ${address.host}`, ...headersOf(request)].join('\r\n')}\r\n\r\n`,
  );
  if (head.length > 0) kubelet.write(head);
  socket.pipe(kubelet).pipe(socket);
}

/**
 * The path of a stream of a pod in the API of its node.
 *
 * @throws StatusError 400 for a container that has to be named, or that the pod does not have.
 */
export function streamPath(pod: KubeObject, { query, subresource }: RequestInfo): string {
  const { name, namespace = '' } = pod.metadata;
  const kind = kinds[subresource] ?? '';
  const asked = new URLSearchParams();
  for (const [parameter, value] of query) {
    if (parameter === 'container') continue;
    if (!flags.has(parameter)) asked.append(names[parameter] ?? parameter, value);
    else if (isSet(query, parameter)) asked.append(names[parameter] ?? parameter, '1');
  }
  const container = kind === 'portForward' ? [] : [containerOf(pod, query.get('container') ?? '')];
  return `/${[kind, namespace, name, ...container].join('/')}?${asked.toString()}`;
}

function headersOf({ rawHeaders }: IncomingMessage): string[] {
  const lines: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!/^(host|authorization)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  return lines;
}
