import type { Cancel, Clock } from '@kubus/ports';
import type { KubeRequest, KubeWatch, KubeWatcher } from '../src/kube-client.ts';
import { KubeError } from '../src/kube-error.ts';

export interface ModelObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

interface OpenWatch {
  readonly event: (event: unknown) => void;
  readonly end: (error?: KubeError) => void;
  stalled: boolean;
}

/** The failure of the next request of its kind. */
export type Fault = 'unreachable' | 'busy' | 'internal' | 'forgotten' | 'forgotten-event' | 'ends-at-once' | 'repeats';

/** Number of objects per page of a list. */
const PAGE = 2;
const BOOKMARK_MS = 60_000;

/** One collection of an API server, as far as a list and watch can see it, on a test clock. */
export class ModelServer implements KubeWatcher {
  readonly #clock: Clock;
  readonly #objects = new Map<string, ModelObject>();
  readonly #history: { readonly version: number; readonly event: unknown }[] = [];
  readonly #watches = new Set<OpenWatch>();
  readonly #pages = new Map<string, readonly ModelObject[]>();
  #version = 1;
  /** Versions before this one are dropped. */
  #oldest = 0;
  readonly faults: { list: Fault[]; watch: Fault[] } = { list: [], watch: [] };
  down = false;
  lists = 0;
  watches = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get objects(): ReadonlyMap<string, ModelObject> {
    return this.#objects;
  }

  put(name: string): void {
    const type = this.#objects.has(name) ? 'MODIFIED' : 'ADDED';
    const object = { metadata: { name, resourceVersion: String(++this.#version) } };
    this.#objects.set(name, object);
    this.#notify(type, object);
  }

  delete(name: string): void {
    if (this.#objects.delete(name)) {
      this.#notify('DELETED', { metadata: { name, resourceVersion: String(++this.#version) } });
    }
  }

  compact(): void {
    this.#oldest = this.#version;
    this.#pages.clear();
  }

  /** What happens to open watches. */
  disturb(how: 'break' | 'end' | 'stall' | 'forget'): void {
    for (const watch of this.#watches) {
      if (how === 'stall') watch.stalled = true;
      else if (how === 'break') watch.end(new KubeError('Unreachable', 'broken'));
      else if (how === 'forget') watch.event({ type: 'ERROR', object: expiredStatus });
      else watch.end();
    }
  }

  async request({ query }: KubeRequest): Promise<unknown> {
    this.lists++;
    await Promise.resolve();
    this.#fail(this.faults.list.shift());
    const token = query?.['continue'];
    const all = token === undefined ? [...this.#objects.values()] : this.#pages.get(String(token));
    if (all === undefined) throw new KubeError('Rejected', 'forgotten', { status: 410, reason: 'Expired' });
    const version = token === undefined ? this.#version : Number(String(token).split(' ')[0]);
    const size = query?.['limit'] === undefined ? all.length : PAGE;
    const rest = all.slice(size);
    const next = rest.length === 0 ? '' : `${version} ${rest.length}`;
    if (next !== '') this.#pages.set(next, rest);
    return { metadata: { resourceVersion: String(version), continue: next }, items: all.slice(0, size) };
  }

  async watch({ query, signal, opened, event }: KubeWatch): Promise<void> {
    this.watches++;
    await Promise.resolve();
    const fault = this.faults.watch.shift();
    this.#fail(fault);
    const from = Number(query?.['resourceVersion']);
    if (from < this.#oldest) throw new KubeError('Rejected', 'forgotten', { status: 410, reason: 'Gone' });
    signal.throwIfAborted();
    opened?.();
    if (fault === 'forgotten-event') event({ type: 'ERROR', object: expiredStatus });
    if (fault === 'ends-at-once') return;
    const missed = this.#history.filter(({ version }) => version > from);
    for (const { event: one } of missed) event(one);
    if (fault === 'repeats') for (const { event: one } of this.#history.slice(-1)) event(one);
    await this.#stream(event, signal, Number(query?.['timeoutSeconds']) * 1000);
  }

  async #stream(event: (event: unknown) => void, signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const watch: OpenWatch = {
      stalled: false,
      event: (one) => {
        if (watch.stalled) return;
        try {
          event(one);
        } catch (thrown) {
          reject(thrown);
        }
      },
      end: (error) => (error === undefined ? resolve(undefined) : reject(error)),
    };
    let unmark: Cancel;
    const mark = () => {
      watch.event({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.#version) } } });
      unmark = this.#clock.after(BOOKMARK_MS, mark);
    };
    unmark = this.#clock.after(BOOKMARK_MS, mark);
    const untime = this.#clock.after(timeoutMs, () => {
      if (!watch.stalled) resolve(undefined);
    });
    signal.addEventListener('abort', () => reject(new KubeError('Unreachable', 'aborted')), { once: true });
    this.#watches.add(watch);
    try {
      await promise;
    } finally {
      this.#watches.delete(watch);
      unmark();
      untime();
    }
  }

  #notify(type: string, object: ModelObject): void {
    const event = { type, object };
    this.#history.push({ version: this.#version, event });
    for (const watch of this.#watches) watch.event(event);
  }

  #fail(fault: Fault | undefined): void {
    if (this.down || fault === 'unreachable') throw new KubeError('Unreachable', 'no route');
    const refuse = (status: number, reason: string, retryAfterMs?: number) => {
      throw new KubeError('Rejected', reason, { status, reason, retryAfterMs });
    };
    if (fault === 'busy') refuse(429, 'TooManyRequests', 2_000);
    if (fault === 'internal') refuse(500, 'InternalError');
    if (fault === 'forgotten') refuse(410, 'Expired');
  }
}

const expiredStatus = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
