import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { Writable } from 'node:stream';
import {
  asList,
  asText,
  at,
  badRequest,
  failure,
  type KubeObject,
  methodNotAllowed,
  type StatusError,
} from '@kubus/kube-objects';
import { toError } from '@kubus/ports';
import type { KeyPair } from '@kubus/certificates';
import type { RequestInfo } from './request-info.ts';

/** The address of a node's HTTPS server. */
export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
}

/** A node's server, and the API server's credentials for it. */
export interface Kubelet {
  readonly address: KubeletAddress;
  readonly client: KeyPair;
}

/**
 * Asks a pod's node for its log, as the API server's own client. Source: pkg/registry/core/pod.
 *
 * @param reader ends the request when it closes.
 * @returns the node's response, whose body has just begun.
 * @throws StatusError 400 for a container that has to be named, or a pod without a node; 500 when the node does not answer.
 */
export async function openLog(
  pod: KubeObject,
  info: RequestInfo,
  kubelet: Kubelet,
  reader: Writable,
): Promise<IncomingMessage> {
  const { name, namespace = '' } = pod.metadata;
  const query = new URLSearchParams(info.query);
  const container = query.get('container') ?? onlyContainer(pod);
  query.delete('container');
  return ask(`/containerLogs/${namespace}/${name}/${container}?${query.toString()}`, kubelet, reader);
}

/**
 * Forwards a request through the API server to a node, `nodes/<name>/proxy/<path>`. Source: pkg/registry/core/node.
 *
 * @throws StatusError 405 for another method than GET; 500 when the node does not answer.
 */
export async function passProxy(info: RequestInfo, kubelet: Kubelet, response: ServerResponse): Promise<void> {
  if (info.method !== 'GET') throw methodNotAllowed();
  const path = info.subresource.replace(/^proxy/, '') || '/';
  respond(await ask(`${path}?${info.query.toString()}`, kubelet, response), response);
}

/** Requests a path of a node's server. @throws StatusError 500 when the node does not answer. */
async function ask(path: string, { address, client }: Kubelet, reader: Writable): Promise<IncomingMessage> {
  const asked = request({ ...address, path, cert: client.certificate, key: client.key, rejectUnauthorized: false });
  reader.once('close', () => asked.destroy());
  asked.end();
  try {
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return answer;
  } catch (error) {
    const why = toError(error).message;
    throw failure(500, 'InternalError', `Get "https://${address.host}:${address.port}${path}": ${why}`, {});
  }
}

/** Answers with the response of a node. */
export function respond(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 500, { 'content-type': answer.headers['content-type'] ?? 'text/plain' });
  answer.pipe(response);
}

/** The container of a pod that has only one. @throws StatusError 400. */
export function onlyContainer({ metadata: { name }, spec = {} }: KubeObject): string {
  const names = asList(spec['containers']).map((container) => asText(at(container, 'name')));
  const [first = ''] = names;
  if (names.length === 1) return first;
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names.join(' ')}]`);
}

/** The node of a request that is passed on, and the TCP port of its server where the request names it. */
export interface ProxiedNode {
  readonly name: string;
  /** Empty: not named. */
  readonly port: string;
}

/**
 * Reads `<name>`, `<name>:<port>` or `<scheme>:<name>:<port>`. Source: pkg/registry/core/node, ResourceLocation.
 *
 * @throws StatusError 400.
 */
export function proxiedNode(text: string): ProxiedNode {
  const [, name = '', port = ''] = /^(?:(?:https?)?:(?=.*:))?([^:]+)(?::([^:]*))?$/.exec(text) ?? [];
  if (name === '') throw invalidNode(text);
  return { name, port };
}

/** The error for a node, or a TCP port of it, that nothing is passed on to. */
export function invalidNode(text: string): StatusError {
  return badRequest(`invalid node request ${JSON.stringify(text)}`);
}

/** The address at which a node reports that it serves. @throws StatusError. */
export function kubeletAddress(node: KubeObject): KubeletAddress {
  const addresses = asList(at(node, 'status', 'addresses'));
  const host = asText(
    at(
      addresses.find((one) => at(one, 'type') === 'InternalIP'),
      'address',
    ),
  );
  const port = at(node, 'status', 'daemonEndpoints', 'kubeletEndpoint', 'Port');
  if (host === '' || typeof port !== 'number') {
    throw failure(
      500,
      'InternalError',
      `no preferred addresses found; known addresses: ${JSON.stringify(addresses)}`,
      {},
    );
  }
  return { host, port };
}
