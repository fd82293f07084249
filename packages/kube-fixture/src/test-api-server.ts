import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Authority, type KeyPair } from './authority.ts';
import type { AccessAttributes } from './authorization.ts';
import type { ObjectName } from './cluster.ts';
import { startScheduler, startSigner } from './controllers.ts';
import { KubeFixtureError } from './errors.ts';
import type { FaultRule, InjectedFault } from './faults.ts';
import { ADMIN, Identities, type User } from './identity.ts';
import { type Json, type JsonObject, asText } from './json.ts';
import { KubeconfigFolder, kubeconfigText } from './kubeconfig.ts';
import type { KubeObject } from './object.ts';
import { type KubeletAddress, kubeletAddress, passLog } from './pod-log.ts';
import { type DeleteOptions, type PatchKind, Registry, type Target } from './registry.ts';
import type { RequestInfo } from './request-info.ts';
import type { LoggedRequest } from './request-log.ts';
import { resourceOfKind } from './resources.ts';
import { ApiHttpServer } from './server.ts';
import { StatusError, badRequest } from './status.ts';
import { Store } from './store.ts';
import type { Watch } from './watch.ts';

/** Ends what hangs, in milliseconds. It says nothing about how long anything should take. */
const LIMIT_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface TestApiServerOptions {
  /** Plain HTTP instead of TLS; then there are tokens only. */
  readonly plain?: boolean;
  /** Left out: any free port. */
  readonly port?: number;
  /** A bookmark on every watch that allows it, so often, in milliseconds; left out: only on demand. */
  readonly bookmarkMs?: number;
  /** Undefined allows; a text denies. Left out: everybody known may do everything. */
  readonly authorize?: (attributes: AccessAttributes) => string | undefined;
  /** Whether a certificate request is approved by itself; left out: none is. */
  readonly approve?: (request: KubeObject) => boolean;
  /** How long signed certificates are valid, in milliseconds; left out: a day. */
  readonly certificateMs?: number;
  /** Whether pods without a node are bound to the first that is ready. */
  readonly schedule?: boolean;
  /** Where a node's server is reached; left out: where its Node object says. */
  readonly kubelet?: (node: KubeObject) => Promise<KubeletAddress>;
}

/**
 * An API server in this process, with its objects in memory. It does what a kube-apiserver 1.36 does wherever a node agent
 * can tell the difference: versions, lists and watches, patches, deletion, identities. It keeps no rules that only people or
 * controllers would notice. For tests alone.
 */
export class TestApiServer {
  readonly registry: Registry;
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
    this.#options = options;
    this.authority = authority;
    this.#folder = folder;
    this.registry = new Registry(new Store(), () => Date.now());
    for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
      this.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#http = new ApiHttpServer({
      registry: this.registry,
      identities: this.identities,
      issuer: { registry: this.registry, identities: this.identities, key: privateKey },
      authorize: (attributes) => options.authorize?.(attributes),
      log: (info, response) => this.#log(info, response, client),
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

  /** Every request so far, in the order in which they came. */
  get requests(): readonly LoggedRequest[] {
    return this.#http.requests.entries;
  }

  /** The watches that are open now. */
  get watches(): readonly Watch[] {
    return [...this.#http.watches];
  }

  /** An outage: every connection breaks, and new ones are refused. The objects stay. */
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

  /** Makes a fault happen from now on. */
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

  /** Forgets the history of all objects: who wants to go on from an older version is told that it is expired. */
  compact(): void {
    this.registry.store.compact();
  }

  /** Writes a kubeconfig with a token, or a client certificate, of that user; left out: of the administrator. */
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
   * Creates an object, as the administrator.
   *
   * @throws StatusError.
   */
  create(object: JsonObject): KubeObject {
    const metadata = object['metadata'] as JsonObject | undefined;
    const name = { kind: asText(object['kind']), name: '', namespace: asText(metadata?.['namespace']) };
    return this.registry.create({ ...this.#target(name), name: '' }, object, { user: ADMIN });
  }

  /** The object as it is now. */
  get(name: ObjectName): KubeObject | undefined {
    try {
      return this.registry.get(this.#target(name));
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404) return undefined;
      throw error;
    }
  }

  /** The objects of a kind, of one namespace or of all. */
  list(kind: string, namespace?: string): KubeObject[] {
    const { resource } = this.#target({ kind, name: '' });
    const all = this.registry.store.list(
      resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`,
    );
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Changes an object by a patch, or one of its subresources. @throws StatusError. */
  patch(name: ObjectName, patch: Json, how: { kind?: PatchKind; subresource?: string } = {}): KubeObject {
    const target = { ...this.#target(name), subresource: how.subresource ?? '' };
    return this.registry.patch(target, patch, how.kind ?? 'merge', { user: ADMIN });
  }

  /** Asks for an object's deletion. @throws StatusError. */
  delete(name: ObjectName, options: Omit<DeleteOptions, 'user'> = {}): void {
    this.registry.delete(this.#target(name), { ...options, user: ADMIN });
  }

  /**
   * Resolves with the object as soon as it is as `is` says; `undefined` in its place: when it is gone.
   *
   * @param limitMs milliseconds.
   * @throws KubeFixtureError `ConditionMissing` with the object as it was then.
   */
  async waitFor(name: ObjectName, is: (object: KubeObject) => boolean, limitMs = LIMIT_MS): Promise<KubeObject> {
    const look = () => {
      const object = this.get(name);
      return object !== undefined && is(object) ? object : undefined;
    };
    const what = () => `${this.#text(name)} is not as awaited: ${JSON.stringify(this.get(name))}`;
    return this.#until(look, what, limitMs, (listener) => this.registry.store.follow(listener));
  }

  /** Resolves when the object is gone. @throws KubeFixtureError as {@link waitFor}. */
  async waitGone(name: ObjectName, limitMs = LIMIT_MS): Promise<void> {
    const look = () => (this.get(name) === undefined ? true : undefined);
    const what = () => `${this.#text(name)} is not gone: ${JSON.stringify(this.get(name))}`;
    await this.#until(look, what, limitMs, (listener) => this.registry.store.follow(listener));
  }

  /**
   * Resolves with the first request, of all that came, that is as `is` says.
   *
   * @throws KubeFixtureError `ConditionMissing` with the last requests.
   */
  async waitForRequest(is: (request: LoggedRequest) => boolean, limitMs = LIMIT_MS): Promise<LoggedRequest> {
    const last = () => this.requests.slice(-5).map(({ verb, path, status = 0 }) => `${verb} ${path} ${status}`);
    const what = () => `no such request came; the last ones: ${last().join(', ')}`;
    return this.#until(
      () => this.requests.find(is),
      what,
      limitMs,
      (listener) => this.#http.requests.follow(listener),
    );
  }

  async #until<T>(
    look: () => T | undefined,
    what: () => string,
    limitMs: number,
    follow: (listener: () => void) => () => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        unfollow();
        act();
      };
      const check = () => {
        const found = look();
        if (found !== undefined) end(() => resolve(found));
      };
      const timer = setTimeout(() => {
        end(() => reject(new KubeFixtureError('ConditionMissing', `Not within ${limitMs / 1000} s: ${what()}`)));
      }, limitMs);
      const unfollow = follow(check);
      check();
    });
  }

  #text({ kind, namespace = '', name }: ObjectName): string {
    return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  }

  #target({ kind, namespace, name }: ObjectName): Target {
    const resource = resourceOfKind(kind);
    if (resource === undefined) throw badRequest(`no matches for kind "${kind}"`);
    const within = namespace === undefined || namespace === '' ? 'default' : namespace;
    return { resource, namespace: resource.namespaced ? within : '', name, subresource: '' };
  }

  async #log(info: RequestInfo, response: ServerResponse, client: KeyPair): Promise<void> {
    const pod = this.registry.get(this.#target({ kind: 'Pod', namespace: info.namespace, name: info.name }));
    const name = asText(pod.spec?.['nodeName']);
    const node = this.registry.get(this.#target({ kind: 'Node', name }));
    const address = await (this.#options.kubelet?.(node) ?? kubeletAddress(node));
    await passLog(pod, info, { address, client }, response);
  }
}
