import { type Cancel, type Clock, type Logger, sleep, toError } from '@kubus/ports';
import * as z from 'zod';
import type { KubeWatcher } from './kube-client.ts';
import { type KubeError, rejectedByEvent, unreachable } from './kube-error.ts';
import { type WatchOutcome, type WatchState, afterOutcome, beforeFirstList } from './watch-state.ts';

/** Objects per page of a list. */
const PAGE_SIZE = 500;
/** Milliseconds without an event or bookmark after which a watch counts as dead. API servers send a bookmark each minute. */
const STALLED_AFTER_MS = 90_000;
/** A watch that lasted this many milliseconds counts as successful, even without events. */
const LASTED_MS = 1_000;
/** Seconds after which the server ends a watch: a random value from this to twice as many, so that not all end at once. */
const WATCH_SECONDS = 300;

const listSchema = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.unknown()).nullish(),
});
const objectSchema = z.object({
  metadata: z.object({ namespace: z.string().optional(), name: z.string(), resourceVersion: z.string() }),
});
const eventSchema = z.object({ type: z.string(), object: z.unknown() });
const bookmarkSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

export interface ReflectorListener<T> {
  /** None of these may throw. All objects at this version. An object that was reported before and is missing was removed. */
  replaced(objects: readonly T[], resourceVersion: string): void;
  /** An object is new, or has a new version. */
  changed(object: T): void;
  /** An object was deleted: its last state, with the version of its deletion. */
  removed(object: T): void;
  /** A list or watch failed; it is retried automatically. */
  failed?(error: KubeError): void;
}

export interface ReflectorOptions<T> {
  readonly client: KubeWatcher;
  /** The path of the collection, see `kubePath`. */
  readonly path: string;
  readonly query?: { readonly fieldSelector?: string | undefined; readonly labelSelector?: string | undefined };
  /** Converts an object for the user. An object for which it throws is logged and left out. */
  readonly parse: (object: unknown) => T;
  readonly listener: ReflectorListener<T>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number between 0 and 1. */
  readonly random: () => number;
  /** Milliseconds without data from the server after which the watch is restarted. */
  readonly stalledAfterMs?: number | undefined;
}

/**
 * Follows one collection of the API server: a list, then a watch from its version on, for as long as it runs. It survives
 * every fault: connections that break or stall, versions that the server has dropped, hours without a response.
 * After each of them the listener knows the server's state, has received no version of an object twice by `changed`,
 * and misses no object: what was lost in a break arrives with the next watch or list.
 *
 * Lists request the newest state, not any state that a server's cache has: a node must never go back in time
 * (kubernetes/kubernetes#59848).
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #stopped = new AbortController();
  /** The version of each object that was reported last. */
  #versions = new Map<string, string>();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  start(): void {
    void this.#run();
  }

  /** The listener is not called any more. */
  stop(): void {
    this.#stopped.abort();
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  async #run(): Promise<void> {
    const { clock, random, listener, logger, path } = this.#options;
    let state: WatchState = beforeFirstList;
    for (;;) {
      const outcome =
        state.resourceVersion === undefined ? await this.#list(state.whole) : await this.#watch(state.resourceVersion);
      if (this.#isStopped) return;
      const next = afterOutcome(state, outcome, random());
      if ('error' in outcome && outcome.error !== undefined) {
        logger.info(
          { path, err: outcome.error.message, waitMs: Math.round(next.waitMs) },
          `${outcome.kind}; continuing`,
        );
        listener.failed?.(outcome.error);
      }
      ({ state } = next);
      if (next.waitMs > 0) await sleep(clock, next.waitMs, this.#stopped.signal);
    }
  }

  async #list(whole: boolean): Promise<WatchOutcome> {
    const { client, path, query, listener } = this.#options;
    const { signal } = this.#stopped;
    const items: unknown[] = [];
    let resourceVersion = '';
    let next: string | undefined;
    try {
      do {
        const page = whole ? {} : { limit: PAGE_SIZE, continue: next };
        const answer = await client.request({ method: 'GET', path, query: { ...query, ...page }, signal });
        const list = listSchema.parse(answer);
        for (const item of list.items ?? []) items.push(item);
        ({ resourceVersion } = list.metadata);
        next = list.metadata.continue === '' ? undefined : list.metadata.continue;
      } while (next !== undefined);
      this.#versions = new Map(items.map((item) => versionOf(item)));
    } catch (thrown) {
      return { kind: 'list-failed', error: unreachable(`LIST ${path}`, thrown) };
    }
    if (!signal.aborted)
      listener.replaced(
        items.flatMap((item) => this.#parsed(item)),
        resourceVersion,
      );
    return { kind: 'listed', resourceVersion };
  }

  async #watch(from: string): Promise<WatchOutcome> {
    const { client, path, query, clock, random, stalledAfterMs = STALLED_AFTER_MS } = this.#options;
    const watch = new AbortController();
    const { signal } = watch;
    const progress = { any: false, resourceVersion: from };
    let openedAt: number | undefined;
    let unguard: Cancel = () => undefined;
    const guard = () => {
      unguard();
      unguard = clock.after(stalledAfterMs, () => watch.abort());
    };
    const ended = (error?: KubeError): WatchOutcome => {
      const lasted = openedAt !== undefined && clock.now() - openedAt >= LASTED_MS;
      return { kind: 'watch-ended', resourceVersion: progress.resourceVersion, healthy: progress.any || lasted, error };
    };
    try {
      await client.watch({
        path,
        query: {
          ...query,
          resourceVersion: from,
          allowWatchBookmarks: true,
          timeoutSeconds: Math.floor(WATCH_SECONDS * (1 + random())),
        },
        signal: AbortSignal.any([this.#stopped.signal, signal]),
        opened: () => {
          openedAt = clock.now();
          guard();
        },
        event: (event) => {
          if (this.#isStopped || signal.aborted) return;
          guard();
          progress.resourceVersion = this.#event(event);
          progress.any = true;
        },
      });
      return ended();
    } catch (thrown) {
      return ended(signal.aborted ? undefined : unreachable(`WATCH ${path}`, thrown));
    } finally {
      unguard();
    }
  }

  /** Reports the event, if it is new. Returns the version that the watch has reached. */
  #event(event: unknown): string {
    const { type, object } = eventSchema.parse(event);
    if (type === 'ERROR') throw rejectedByEvent(`WATCH ${this.#options.path}`, object);
    if (type === 'BOOKMARK') return bookmarkSchema.parse(object).metadata.resourceVersion;
    const { listener } = this.#options;
    const [key, version] = versionOf(object);
    const known = this.#versions.get(key);
    if (type === 'DELETED') {
      if (known !== undefined) for (const parsed of this.#parsed(object)) listener.removed(parsed);
      this.#versions.delete(key);
    } else if (known !== version) {
      for (const parsed of this.#parsed(object)) listener.changed(parsed);
      this.#versions.set(key, version);
    }
    return version;
  }

  /** The converted object; undefined when the user ignores it. */
  #parsed(object: unknown): [T] | [] {
    try {
      return [this.#options.parse(object)];
    } catch (thrown) {
      const { path, logger } = this.#options;
      logger.warn({ path, object: versionOf(object)[0], err: toError(thrown) }, 'an object cannot be read');
      return [];
    }
  }
}

/** The key of an object, and its version. */
function versionOf(object: unknown): [key: string, version: string] {
  const { namespace = '', name, resourceVersion } = objectSchema.parse(object).metadata;
  return [`${namespace}/${name}`, resourceVersion];
}
