import { type JsonObject, type KubeObject, StatusError } from '@kubus/kube-objects';
import { KubeError, type KubeRequest, type KubeWatch, type KubeWatcher } from '@kubus/kube';
import {
  ADMIN,
  type Change,
  MemoryHistory,
  MemoryStore,
  Registry,
  Watch,
  answerObjects,
  createNamespaces,
  nodeUser,
  requestInfo,
  servedBy,
  targetOf,
} from '@kubus/kube-server';
import { type Random, sleep, toError } from '@kubus/ports';
import type { ProcessGuard } from './process-guard.ts';
import type { Scheduler } from './scheduler.ts';
import { CLUSTER_NODE, type Mutations, NODE } from './simulated-process.ts';

/** Milliseconds between the bookmarks of a watch. */
const BOOKMARK_MS = 60_000;

/** An object without what the server adds. */
type NewObject = JsonObject & { readonly kind: string; readonly metadata: JsonObject & { readonly name: string } };

const NODE_OBJECT: NewObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } };

/** Bodies are not read as text here. */
const NO_BYTES = new Uint8Array();

/** How unreliable the server is. */
interface ApiTrouble {
  /** The longest way of a request, of an answer, and of an event, in milliseconds. */
  readonly slowMs: number;
  /** How often it ends when it has carried out a request, before it answers. */
  readonly ends: number;
}

/** One run of the server's process. */
interface ApiLife {
  readonly registry: Registry;
  /** Breaks each open watch. */
  readonly watches: Set<() => void>;
}

/**
 * The node's own API server, which ends at any step: the real objects, rules and watches over a file that outlives it, without HTTP.
 * What it has answered is in the file.
 */
export class SimulatedApi {
  trouble: ApiTrouble = { slowMs: 1, ends: 0 };
  /** The file: all changes, in order. */
  readonly changes: Change[] = [];
  /** When a pod was removed: its UID, and milliseconds since the start of the run. */
  readonly removedAt = new Map<string, number>();
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #write: (write: () => void) => void;
  readonly #ended: () => void;
  /** What users do as soon as it runs. */
  readonly #asked: ((registry: Registry) => void)[] = [];
  #life: ApiLife | undefined;
  #uid: string | undefined;
  #uids = 0;

  /** @param options.ended called when the server ends, for people */
  constructor(options: { scheduler: Scheduler; random: Random; mutations: Mutations; ended: () => void }) {
    const { scheduler, random, mutations, ended } = options;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#ended = ended;
    this.#write = mutations.makeApiFile?.(scheduler) ?? ((write) => write());
    this.start();
  }

  /** The pods in the file, by name. */
  get pods(): ReadonlyMap<string, KubeObject> {
    const pods = new Map<string, KubeObject>();
    for (const { resource, type, object } of this.changes) {
      if (resource !== 'pods') continue;
      if (type === 'DELETED') pods.delete(object.metadata.name);
      else pods.set(object.metadata.name, object);
    }
    return pods;
  }

  /** Starts the server, if it does not run, with what the file has. */
  start(): void {
    if (this.#life !== undefined) return;
    const history = new FileHistory(this.changes, (change, write) => {
      const { resource, type, object } = change;
      if (resource === 'pods' && type === 'DELETED') this.removedAt.set(object.metadata.uid, this.#scheduler.elapsed());
      this.#write(write);
    });
    const store = new MemoryStore(history, this.changes);
    const newUid = () => this.#uid ?? `api-${this.#uids++}`;
    const registry = new Registry(store, () => this.#scheduler.now(), { newUid });
    this.#life = { registry, watches: new Set() };
    createNamespaces(registry);
    if (store.get('nodes', NODE) === undefined) this.#create(registry, NODE_OBJECT, CLUSTER_NODE.uid);
    for (const action of this.#asked.splice(0)) action(registry);
  }

  /** The server's process is killed between two of its steps, and started again after a while. */
  kill(startsAfterMs: number): void {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    for (const end of life.watches) end();
    this.#ended();
    this.#scheduler.after(startsAfterMs, () => this.start());
  }

  /** A user creates the pod, bound to the node. */
  create(pod: NewObject, uid: string): void {
    this.#ask((registry) => this.#create(registry, pod, uid));
  }

  /** A user deletes the pod, with its own grace period. */
  delete(name: string): void {
    this.#ask((registry) => {
      if (this.pods.has(name)) registry.delete(targetOf({ kind: 'Pod', name }), { user: ADMIN });
    });
  }

  /** The access of a service's process. */
  client(guard: ProcessGuard): KubeWatcher {
    return {
      request: (request) => guard.promise(this.#request(request)),
      watch: (watch) => guard.promise(this.#watch(watch, guard)),
    };
  }

  #create(registry: Registry, object: NewObject, uid: string): void {
    this.#uid = uid;
    const { kind, metadata } = object;
    registry.create(targetOf({ kind, name: metadata.name }), object, { user: ADMIN });
    this.#uid = undefined;
  }

  #ask(action: (registry: Registry) => void): void {
    if (this.#life === undefined) this.#asked.push(action);
    else action(this.#life.registry);
  }

  async #request({ method, path, query = {}, body, patch = 'json' }: KubeRequest): Promise<unknown> {
    const life = await this.#arrive();
    const info = requestInfo(method, `${path}?${textOf(query)}`);
    const { resource } = servedBy(info);
    if (resource === undefined) throw new KubeError('Rejected', `no resource at ${path}`, { status: 404 });
    const contentType = { strategic: 'strategic-merge', merge: 'merge', json: 'json' }[patch];
    const payload = {
      userAgent: 'kubus',
      contentType: method === 'PATCH' ? `application/${contentType}-patch+json` : 'application/json',
      bytes: body === undefined ? NO_BYTES : Buffer.from(JSON.stringify(body)),
    };
    const outcome = answered(() => answerObjects(life.registry, resource, info, payload, nodeUser(NODE)).body);
    if (this.#random.chance(this.trouble.ends)) this.kill(this.#random.pick([1, 50, 2_000, 20_000]));
    await sleep(this.#scheduler, this.#way());
    if (this.#life !== life) throw new KubeError('Unreachable', 'the connection was lost');
    if (outcome instanceof KubeError) throw outcome;
    return outcome;
  }

  async #watch({ path, query, signal, opened, event }: KubeWatch, guard: ProcessGuard): Promise<void> {
    const life = await this.#arrive();
    const info = requestInfo('GET', `${path}?${textOf({ ...query, watch: true })}`);
    const { resource } = servedBy(info);
    if (resource === undefined) throw new KubeError('Rejected', `no resource at ${path}`, { status: 404 });
    const scheduler = this.#scheduler;
    let last = 0;
    await new Promise<void>((resolve, reject) => {
      /** In the order in which they were sent. */
      const later = (action: () => void) => {
        last = Math.max(last, scheduler.now() + this.#way());
        scheduler.after(last - scheduler.now(), () => guard.run(action));
      };
      const lost = (why: unknown) => {
        watch.closed();
        life.watches.delete(end);
        reject(toError(why));
      };
      const end = () => lost(new KubeError('Unreachable', 'the watch was lost'));
      const received = (sent: object) => {
        if (!life.watches.has(end) || signal.aborted) return;
        try {
          event(copied(sent));
        } catch (error) {
          lost(error);
        }
      };
      const output = { send: (sent: object) => later(() => received(sent)), end: () => later(resolve), reset: end };
      const watch = new Watch({ store: life.registry.store, resource, info, user: nodeUser(NODE).username, output });
      life.watches.add(end);
      signal.addEventListener('abort', end);
      later(() => opened?.());
      const bookmark = () => {
        if (!life.watches.has(end)) return;
        watch.bookmark();
        scheduler.after(BOOKMARK_MS, bookmark);
      };
      scheduler.after(BOOKMARK_MS, bookmark);
      scheduler.after(Number(info.query.get('timeoutSeconds')) * 1000, () => {
        if (life.watches.has(end)) watch.end();
      });
      watch.start();
    });
  }

  /** The server when a request has arrived. @throws KubeError `Unreachable`. */
  async #arrive(): Promise<ApiLife> {
    await sleep(this.#scheduler, this.#way());
    if (this.#life === undefined) throw new KubeError('Unreachable', 'connection refused');
    return this.#life;
  }

  #way(): number {
    return this.#random.between(0.2, this.trouble.slowMs);
  }
}

/** A history that is kept when its file is written. */
class FileHistory extends MemoryHistory {
  readonly #keep: (change: Change, write: () => void) => void;

  constructor(changes: Change[], keep: (change: Change, write: () => void) => void) {
    super(changes);
    this.#keep = keep;
  }

  override append(change: Change): void {
    this.#keep(change, () => super.append(change));
  }
}

/** The answer, or the refusal as a client has it. */
function answered<T>(answer: () => T): T | KubeError {
  try {
    return copied(answer());
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { code, reason, message } = error.status;
    return new KubeError('Rejected', error.message, { status: code, reason, said: message });
  }
}

/** As it arrives in another process. */
function copied<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function textOf(query: NonNullable<KubeRequest['query']>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
}
