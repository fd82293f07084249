import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { bodyBegin } from '@kubus/service-kit';
import { type Kubelet, askKubelet } from './kubelet.ts';
import type { RequestInfo } from './request-info.ts';

/**
 * The path of a pod's log in the API of its node. Source: pkg/registry/core/pod, LogLocation.
 *
 * @throws StatusError 400 for a container that has to be named, or that the pod does not have.
 */
export function logPath(pod: KubeObject, { query }: RequestInfo): string {
  const { name, namespace = '' } = pod.metadata;
  const asked = new URLSearchParams(query);
  asked.delete('container');
  return `/containerLogs/${namespace}/${name}/${containerOf(pod, query.get('container') ?? '')}?${asked.toString()}`;
}

/**
 * Asks a pod's node for its log, as the API server's own client.
 *
 * @param name of the pod.
 * @param reader ends the request when it closes.
 * @returns the node's response, whose body has just begun.
 * @throws StatusError what the node says against it; 500 when the node does not answer.
 */
export async function openLog(
  name: string,
  path: string,
  kubelet: Kubelet,
  reader: Writable,
): Promise<IncomingMessage> {
  const answer = await ask(path, kubelet, reader);
  const { statusCode: code = 500 } = answer;
  if (code >= 200 && code <= 206) return answer;
  throw refusedLog(name, code, (await bodyBegin(answer, REFUSAL_BYTES)).toString());
}

/** Source: k8s.io/apiserver/pkg/registry/generic/rest, response_checker.go. */
function refusedLog(name: string, code: number, text: string): StatusError {
  if (code === 500)
    return failure(500, 'InternalError', `Internal error occurred: ${text}`, { causes: [{ message: text }] });
  if (code === 400) return badRequest(text);
  const [reason, message] =
    code === 404
      ? ['NotFound', 'the server could not find the requested resource']
      : ['', `the server responded with the status code ${code} but did not return more information`];
  return failure(code, reason, `${message} ( pods/log ${name})`, { name, kind: 'pods/log' });
}

/** How much of a refusal is read, in bytes. */
const REFUSAL_BYTES = 50_000;

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

/** Requests a path of a node's server, until the reader closes. @throws StatusError 500 when the node does not answer. */
async function ask(path: string, kubelet: Kubelet, reader: Writable): Promise<IncomingMessage> {
  const closed = new AbortController();
  reader.once('close', () => closed.abort());
  try {
    return await askKubelet(path, kubelet, closed.signal);
  } catch (error) {
    const { host, port } = kubelet.address;
    const why = toError(error).message;
    throw failure(500, 'InternalError', `Get "https://${host}:${port}${path}": ${why}`, {});
  }
}

/** Answers with the response of a node. */
export function respond(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 500, { 'content-type': answer.headers['content-type'] ?? 'text/plain' });
  answer.pipe(response);
}

/**
 * The container that a request is for: the only one of its pod if it names none. Source: pkg/registry/core/pod, validateContainer.
 *
 * @param named empty: none.
 * @throws StatusError 400.
 */
export function containerOf({ metadata: { name }, spec = {} }: KubeObject, named: string): string {
  const namesIn = (field: string) => asList(spec[field]).map((container) => asText(at(container, 'name')));
  const names = namesIn('containers');
  const all = [...namesIn('initContainers'), ...names, ...namesIn('ephemeralContainers')];
  if (named !== '') {
    if (all.includes(named)) return named;
    throw badRequest(`container ${named} is not valid for pod ${name}`);
  }
  const [first = ''] = names;
  if (names.length === 1) return first;
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`);
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
