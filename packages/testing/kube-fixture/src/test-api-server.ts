import { generateKeyPairSync } from 'node:crypto';
import { Authority } from '@kubus/certificates';
import type { KubeObject } from '@kubus/kube-objects';
import {
  ADMIN,
  type AccessAttributes,
  KubeServer,
  type KubeletAddress,
  MemoryStore,
  type User,
  type Watch,
  apiAuthorizer,
  nodeAuthorizer,
  kubeconfigText,
  startDefaults,
  startNamespaces,
  startScheduler,
  startSigner,
  startVolumes,
} from '@kubus/kube-server';
import { HANGING_MS } from '@kubus/ports/testing';
import { ApiObjects } from './api-objects.ts';
import { type FaultRule, Faults, type InjectedFault } from './faults.ts';
import { KubeconfigFolder } from './kubeconfig-folder.ts';
import { type LoggedRequest, RequestLog } from './request-log.ts';
import { until } from './until.ts';

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
  /**
   * Whether nodes and other users may do only what the API of a node allows them, see `apiAuthorizer`; with `authorize`, that
   * decides about users who are no nodes. Default: everything.
   */
  readonly nodeAuthorization?: boolean;
  /** Whether a certificate request is approved automatically; default: none is. */
  readonly approve?: (request: KubeObject) => boolean;
  /** How long signed certificates are valid, in milliseconds; left out: a day. */
  readonly certificateMs?: number;
  /** How long a deleted namespace keeps its content, in milliseconds; default: it goes at once. */
  readonly namespaceGraceMs?: number;
  /** Whether pods without a node are bound to the first ready node. */
  readonly schedule?: boolean;
  /** Whether each namespace has its service account and pods get one; default: neither. */
  readonly serviceAccounts?: boolean;
  /** Whether claims are bound to volumes. */
  readonly volumes?: boolean;
  /** The address of a node's server; default: that of its Node object. */
  readonly kubelet?: (node: KubeObject) => Promise<KubeletAddress>;
}

/** What a test has in its hands besides the server. */
interface TestParts {
  readonly server: KubeServer;
  readonly authority: Authority;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly folder: KubeconfigFolder;
}

/**
 * The API server of a node with a port for faults, in this process, with its objects in memory and all kinds of users. For
 * tests only.
 */
export class TestApiServer extends ApiObjects {
  readonly authority: Authority;
  readonly #options: TestApiServerOptions;
  readonly #parts: TestParts;
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
    const faults = new Faults();
    const log = new RequestLog();
    const store = new MemoryStore();
    const ofNode = options.authorize === undefined ? apiAuthorizer(store) : nodeAuthorizer(store);
    const authorizeUsers = options.nodeAuthorization === true ? ofNode : undefined;
    const server = new KubeServer({
      ...{ store, authority, client },
      serving: options.plain === true ? undefined : serving,
      tokenKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
      authorize: (attributes) => options.authorize?.(attributes) ?? authorizeUsers?.(attributes),
      now: () => Date.now(),
      serviceAccounts: options.serviceAccounts ?? false,
      injection: { arrived: (request) => ({ fault: faults.take(request), done: log.add(request) }) },
      ...(options.kubelet && { kubelet: options.kubelet }),
    });
    const test = new TestApiServer(options, { server, authority, faults, log, folder: await KubeconfigFolder.make() });
    await test.resume();
    return test;
  }

  private constructor(options: TestApiServerOptions, parts: TestParts) {
    super(parts.server.registry);
    const { authority } = parts;
    this.#options = options;
    this.#parts = parts;
    this.authority = authority;
    this.#ends.push(
      startSigner(this.registry, {
        authority,
        approve: (request) => options.approve?.(request) ?? false,
        lifetimeMs: options.certificateMs ?? DAY_MS,
      }),
    );
    const fail = (error: Error) => {
      throw error;
    };
    this.#ends.push(startNamespaces(this.registry, options.namespaceGraceMs ?? 0, fail));
    if (options.schedule === true) this.#ends.push(startScheduler(this.registry, fail));
    if (options.serviceAccounts === true)
      this.#ends.push(startDefaults(this.registry, { authority: authority.certificate }, fail));
    if (options.volumes === true) this.#ends.push(startVolumes(this.registry, fail));
    if (options.bookmarkMs !== undefined) {
      const timer = setInterval(() => this.bookmark(), options.bookmarkMs);
      this.#ends.push(() => clearInterval(timer));
    }
  }

  /** The users that it knows by tokens. */
  get identities(): KubeServer['identities'] {
    return this.#parts.server.identities;
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
    return this.#parts.log.entries;
  }

  /** The open watches. */
  get watches(): readonly Watch[] {
    return this.#parts.server.watches;
  }

  /** Starts an outage: every connection breaks, and new ones are refused. The objects stay. */
  async pause(): Promise<void> {
    await this.#parts.server.close();
  }

  /** Ends an outage, on the same port. */
  async resume(): Promise<void> {
    this.#port = await this.#parts.server.listen(
      '127.0.0.1',
      this.#port === 0 ? (this.#options.port ?? 0) : this.#port,
    );
  }

  /** Ends the server and removes the kubeconfig files. Harmless after {@link pause}. */
  async close(): Promise<void> {
    for (const end of this.#ends) end();
    await this.#parts.server.close();
    await this.#parts.folder.remove();
  }

  /** Injects a fault from now on. */
  inject(rule: FaultRule): InjectedFault {
    return this.#parts.faults.inject(rule);
  }

  /** Ends all faults. */
  heal(): void {
    this.#parts.faults.clear();
  }

  /** Sends a bookmark on every watch that allows it. */
  bookmark(): void {
    this.#parts.server.bookmark();
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
    return this.#parts.folder.write(text);
  }

  /**
   * Resolves with the first request for which `is` returns true, including past ones.
   *
   * @throws KubeFixtureError `ConditionMissing` with the last requests.
   */
  async waitForRequest(is: (request: LoggedRequest) => boolean, limitMs = HANGING_MS): Promise<LoggedRequest> {
    const last = () => this.requests.slice(-5).map(({ verb, path, status = 0 }) => `${verb} ${path} ${status}`);
    const what = () => `no such request was received; the last ones: ${last().join(', ')}`;
    return until(
      () => this.requests.find(is),
      what,
      limitMs,
      (listener) => this.#parts.log.follow(listener),
    );
  }
}
