import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ApiObjects, targetOf } from './api-objects.ts';
import { Authority, type KeyPair } from './authority.ts';
import type { AccessAttributes } from './authorization.ts';
import { startScheduler, startSigner } from './controllers.ts';
import type { FaultRule, InjectedFault } from './faults.ts';
import { ADMIN, Identities, type User } from './identity.ts';
import { asText } from './json.ts';
import { KubeconfigFolder, kubeconfigText } from './kubeconfig.ts';
import { nodeAuthorizer } from './node-authorizer.ts';
import type { KubeObject } from './object.ts';
import { type KubeletAddress, kubeletAddress, passLog, passProxy } from './pod-log.ts';
import { type UpgradedConnection, passStream } from './pod-stream.ts';
import type { RequestInfo } from './request-info.ts';
import type { LoggedRequest } from './request-log.ts';
import { ApiHttpServer } from './server.ts';
import { until } from './until.ts';
import type { Watch } from './watch.ts';

/** Limit of hanging waits in milliseconds. It is not an expected duration. */
const LIMIT_MS = 180_000;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface TestApiServerOptions {
  /** Plain HTTP instead of TLS; then there are tokens only. */
  readonly plain?: boolean;
  /** Left out: any free port. */
  readonly port?: number;
  /** Interval of bookmarks on every watch that allows them, in milliseconds; default: only on demand. */
  readonly bookmarkMs?: number;
  /** Undefined allows; a text denies. Default: all known users may do everything. */
  readonly authorize?: (attributes: AccessAttributes) => string | undefined;
  /** Whether nodes may access only objects related to their pods, see `nodeAuthorizer`; default: everything. */
  readonly nodeAuthorization?: boolean;
  /** Whether a certificate request is approved automatically; default: none is. */
  readonly approve?: (request: KubeObject) => boolean;
  /** How long signed certificates are valid, in milliseconds; left out: a day. */
  readonly certificateMs?: number;
  /** Whether pods without a node are bound to the first ready node. */
  readonly schedule?: boolean;
  /** The address of a node's server; default: that of its Node object. */
  readonly kubelet?: (node: KubeObject) => Promise<KubeletAddress>;
}

/**
 * An API server in this process, with its objects in memory. It behaves like a kube-apiserver 1.36 in everything that a node
 * agent can notice: versions, lists and watches, patches, deletion, identities. It omits rules that only users or
 * controllers would notice. For tests only.
 */
export class TestApiServer extends ApiObjects {
  readonly identities = new Identities();
  readonly authority: Authority;
  readonly #options: TestApiServerOptions;
  readonly #folder: KubeconfigFolder;
  readonly #http: ApiHttpServer;
  readonly #ends: (() => void)[] = [];
  #port = 0;

  static async start(options: TestApiServerOptions = {}): Promise<TestApiServer> {
    const authority = await Authority.create();
    const names = { dnsNames: ['localhost', 'kubernetes'], addresses: ['127.0.0.1'] };
    const serving = await authority.issue({ commonName: 'kube-apiserver', ...names }, 'server');
    const client = await authority.issue(
      { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] },
      'client',
    );
    const server = new TestApiServer(options, authority, { serving, client }, await KubeconfigFolder.make());
    await server.resume();
    return server;
  }

  private constructor(
    options: TestApiServerOptions,
    authority: Authority,
    { serving, client }: { serving: KeyPair; client: KeyPair },
    folder: KubeconfigFolder,
  ) {
    super();
    this.#options = options;
    this.authority = authority;
    this.#folder = folder;
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const authorizeNodes = options.nodeAuthorization === true ? nodeAuthorizer(this.registry.store) : undefined;
    this.#http = new ApiHttpServer({
      registry: this.registry,
      identities: this.identities,
      issuer: { registry: this.registry, identities: this.identities, key: privateKey },
      authorize: (attributes) => options.authorize?.(attributes) ?? authorizeNodes?.(attributes),
      log: (info, response) => this.#log(info, response, client),
      proxy: async (info, response) => passProxy(info, { address: await this.#kubelet(info.name), client }, response),
      stream: (info, connection) => this.#stream(info, connection, client),
      ...(options.plain !== true && { tls: { authority, ...serving } }),
    });
    this.#ends.push(
      startSigner(this.registry, {
        authority,
        approve: (request) => options.approve?.(request) ?? false,
        lifetimeMs: options.certificateMs ?? DAY_MS,
      }),
    );
    if (options.schedule === true) this.#ends.push(startScheduler(this.registry));
    if (options.bookmarkMs !== undefined) {
      const timer = setInterval(() => this.bookmark(), options.bookmarkMs);
      this.#ends.push(() => clearInterval(timer));
    }
  }

  /** Where it listens: `https://127.0.0.1:41233`. */
  get url(): string {
    return `${this.#options.plain === true ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  /** Every request so far, in the order of arrival. */
  get requests(): readonly LoggedRequest[] {
    return this.#http.requests.entries;
  }

  /** The open watches. */
  get watches(): readonly Watch[] {
    return [...this.#http.watches];
  }

  /** Starts an outage: every connection breaks, and new ones are refused. The objects stay. */
  async pause(): Promise<void> {
    await this.#http.close();
  }

  /** Ends an outage, on the same port. */
  async resume(): Promise<void> {
    this.#port = await this.#http.listen('127.0.0.1', this.#port === 0 ? (this.#options.port ?? 0) : this.#port);
  }

  /** Ends the server and removes the kubeconfig files. Harmless after {@link pause}. */
  async close(): Promise<void> {
    for (const end of this.#ends) end();
    await this.#http.close();
    await this.#folder.remove();
  }

  /** Injects a fault from now on. */
  inject(rule: FaultRule): InjectedFault {
    return this.#http.faults.inject(rule);
  }

  /** Ends all faults. */
  heal(): void {
    this.#http.faults.clear();
  }

  /** Sends a bookmark on every watch that allows it. */
  bookmark(): void {
    for (const watch of this.watches) watch.bookmark();
  }

  /** Drops the history of all objects: a client that continues from an older version gets 410 Expired. */
  compact(): void {
    this.registry.store.compact();
  }

  /** Writes a kubeconfig with a token, or a client certificate, of that user; default: of the administrator. */
  async kubeconfig(user: User = ADMIN, credential: 'token' | 'certificate' = 'token'): Promise<string> {
    const { username: commonName, groups } = user;
    const organizations = groups.filter((group) => group !== 'system:authenticated');
    const cluster = {
      url: this.url,
      ...(this.#options.plain !== true && { authority: this.authority.certificate }),
    };
    const text = kubeconfigText(
      cluster,
      credential === 'token'
        ? { token: this.identities.token(user) }
        : { clientCertificate: await this.authority.issue({ commonName, organizations }, 'client') },
    );
    return this.#folder.write(text);
  }

  /**
   * Resolves with the first request for which `is` returns true, including past ones.
   *
   * @throws KubeFixtureError `ConditionMissing` with the last requests.
   */
  async waitForRequest(is: (request: LoggedRequest) => boolean, limitMs = LIMIT_MS): Promise<LoggedRequest> {
    const last = () => this.requests.slice(-5).map(({ verb, path, status = 0 }) => `${verb} ${path} ${status}`);
    const what = () => `no such request was received; the last ones: ${last().join(', ')}`;
    return until(
      () => this.requests.find(is),
      what,
      limitMs,
      (listener) => this.#http.requests.follow(listener),
    );
  }

  async #log(info: RequestInfo, response: ServerResponse, client: KeyPair): Promise<void> {
    const { pod, address } = await this.#podOnNode(info);
    await passLog(pod, info, { address, client }, response);
  }

  async #stream(info: RequestInfo, connection: UpgradedConnection, client: KeyPair): Promise<void> {
    const { pod, address } = await this.#podOnNode(info);
    await passStream(pod, info, { address, client }, connection);
  }

  /** The pod of a request, and the address of its node's server. */
  async #podOnNode({ namespace, name }: RequestInfo): Promise<{ pod: KubeObject; address: KubeletAddress }> {
    const pod = this.registry.get(targetOf({ kind: 'Pod', namespace, name }));
    return { pod, address: await this.#kubelet(asText(pod.spec?.['nodeName'])) };
  }

  /** The address of a node's server. @throws StatusError 404. */
  async #kubelet(name: string): Promise<KubeletAddress> {
    const node = this.registry.get(targetOf({ kind: 'Node', name }));
    return this.#options.kubelet?.(node) ?? kubeletAddress(node);
  }
}
