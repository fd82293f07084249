import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { type KubeObject, type StatusError, asText, badRequest } from '@kubus/kube-objects';
import type { Authority, KeyPair } from '@kubus/certificates';
import type { Authorizer } from './authorization.ts';
import { Identities } from './identity.ts';
import type { Injection } from './injection.ts';
import { sendLog } from './log-socket.ts';
import { type Kubelet, type KubeletAddress, kubeletAddress } from './kubelet.ts';
import { NodeUsages } from './node-usages.ts';
import { invalidNode, logPath, openLog, passProxy, proxiedNode, respond } from './pod-log.ts';
import { type UpgradedConnection, passStream, streamPath } from './pod-stream.ts';
import { Registry } from './registry.ts';
import type { RequestInfo } from './request-info.ts';
import { ApiHttpServer } from './server.ts';
import { tokenUser } from './service-account-token.ts';
import type { Store } from './store.ts';
import { targetOf } from './target.ts';
import type { Watch } from './watch.ts';

export interface KubeServerOptions {
  readonly store: Store;
  /** The authority of all client certificates. */
  readonly authority: Authority;
  /** Its serving certificate; undefined: plain HTTP, with tokens only. */
  readonly serving: KeyPair | undefined;
  /** Its own client certificate for the HTTPS API of nodes. */
  readonly client: KeyPair;
  /** The elliptic curve key that signs service account tokens. */
  readonly tokenKey: KeyObject;
  readonly authorize: Authorizer;
  /** Whether new pods get a service account: each namespace needs one, see `startDefaults`. Default: they do not. */
  readonly serviceAccounts?: boolean;
  /** The address of a node's HTTPS API; default: that of its Node object. */
  readonly kubelet?: (node: KubeObject) => Promise<KubeletAddress>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Only tests have one. */
  readonly injection?: Injection;
}

/**
 * An API server for one node's kinds. Wherever a node agent, kubectl or a client could see a difference, it behaves as
 * kube-apiserver 1.36 does.
 */
export class KubeServer {
  readonly registry: Registry;
  readonly identities: Identities;
  readonly #options: KubeServerOptions;
  readonly #http: ApiHttpServer;

  constructor(options: KubeServerOptions) {
    const { store, authority, serving, tokenKey, authorize, now, injection, serviceAccounts = false } = options;
    this.#options = options;
    this.registry = new Registry(store, now, { serviceAccounts });
    const { registry } = this;
    const issuer = { registry, key: tokenKey };
    const identities = new Identities((token, audiences) => tokenUser(issuer, token, audiences));
    this.identities = identities;
    this.#http = new ApiHttpServer({
      registry,
      identities,
      issuer,
      authorize,
      usages: new NodeUsages(async (name) => this.#kubelet(name), now),
      log: async (info, response) => this.#log(info, response),
      logSocket: async (info, connection) => this.#logSocket(info, connection),
      proxy: async (info, response) => passProxy(info, await this.#proxied(info.name), response),
      stream: (info, connection) => this.#stream(info, connection),
      ...(serving && { tls: { authority, ...serving } }),
      ...(injection && { injection }),
    });
  }

  /** The open watches. */
  get watches(): readonly Watch[] {
    return [...this.#http.watches];
  }

  /** Listens there, too. @returns the port. @param port 0: any free one. */
  async listen(host: string, port: number): Promise<number> {
    return this.#http.listen(host, port);
  }

  /** Breaks every connection and stops listening. The objects stay. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  /** Sends a bookmark on every watch that allows it. */
  bookmark(): void {
    for (const watch of this.#http.watches) watch.bookmark();
  }

  async #log(info: RequestInfo, response: ServerResponse): Promise<void> {
    const log = await this.#openLog(info, response);
    if (log === undefined) response.writeHead(204).end();
    else respond(log, response);
  }

  async #logSocket(info: RequestInfo, connection: UpgradedConnection): Promise<void> {
    const log = await this.#openLog(info, connection.socket);
    if (log === undefined) throw withoutNode(info);
    sendLog(log, connection);
  }

  /** Undefined for a pod without a node. @throws StatusError. */
  async #openLog(info: RequestInfo, reader: Writable): Promise<IncomingMessage | undefined> {
    const pod = this.#pod(info);
    const path = logPath(pod, info);
    const node = asText(pod.spec?.['nodeName']);
    if (node === '') return undefined;
    return openLog(info.name, path, await this.#kubelet(node), reader);
  }

  async #stream(info: RequestInfo, connection: UpgradedConnection): Promise<void> {
    const pod = this.#pod(info);
    const path = streamPath(pod, info);
    const node = asText(pod.spec?.['nodeName']);
    if (node === '') throw withoutNode(info);
    await passStream(path, await this.#kubelet(node), connection);
  }

  #pod({ namespace, name }: RequestInfo): KubeObject {
    return this.registry.get(targetOf({ kind: 'Pod', namespace, name }));
  }

  /** The node's server that a request names: that server alone, whatever else listens there. @throws StatusError 400, 404. */
  async #proxied(text: string): Promise<Kubelet> {
    const { name, port } = proxiedNode(text);
    const kubelet = await this.#kubelet(name);
    if (port !== '' && port !== String(kubelet.address.port)) throw invalidNode(text);
    return kubelet;
  }

  /** A node's server. @throws StatusError 404. */
  async #kubelet(name: string): Promise<Kubelet> {
    const { client, kubelet } = this.#options;
    const node = this.registry.get(targetOf({ kind: 'Node', name }));
    return { address: (await kubelet?.(node)) ?? kubeletAddress(node), client };
  }
}

function withoutNode({ name }: RequestInfo): StatusError {
  return badRequest(`pod ${name} does not have a host assigned`);
}
