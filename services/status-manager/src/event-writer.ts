import type { NodeEvent, PodEvent } from '@kubus/contracts';
import { type Rate, TokenBucket } from '@kubus/event-correlator';
import { KubeError, type KubeRequest, type KubeRequester, isOutage, kubePath } from '@kubus/kube';
import { type Cancel, type Clock, type Ids, KubusError, type Logger } from '@kubus/ports';
import { type ApiEvent, apiEvent } from '@kubus/status-patch';

/** Events that may wait; what comes then is not written (client-go tools/record, maxQueuedEvents). */
const QUEUED = 1000;
/** How often an event is tried, and how long after a failure all wait, in milliseconds (the same, defaultSleepDuration). */
const TRIES = 12;
const RETRY_MS = 10_000;
/** How many are under way at most. */
const AT_ONCE = 4;
/** Milliseconds until a write counts as not answered. */
const TIMEOUT_MS = 10_000;

export interface EventWriterOptions {
  readonly client: KubeRequester;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** The node's name: who reports. */
  readonly node: string;
  /** With `qps` 0 there is no limit. */
  readonly rate: Rate;
  /** `metadata.resourceVersion` of a pod by its UID, where the API server has it. */
  readonly resourceVersion: (uid: string) => string | undefined;
}

interface Waiting {
  readonly event: ApiEvent;
  /** How often it has happened. */
  readonly count: number;
  readonly tries: number;
}

/** What became of events: `dropped` had no place among those that wait, `failed` was tried too often. */
export type EventOutcome = 'written' | 'rejected' | 'dropped' | 'failed';

/**
 * Writes what the node tells to the API server as Events (kubelet behaviour 4): a new series is created, a repeat changes it.
 * Of a series only the newest event waits. When the API server does not answer, all wait with the one that was tried; what
 * it refuses is not tried again, as in a namespace that is being deleted.
 */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #turns: TokenBucket | undefined;
  /** By series, the one first that has waited longest. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #running = new Set<string>();
  readonly #counts: Record<EventOutcome, number> = { written: 0, rejected: 0, dropped: 0, failed: 0 };
  readonly #ending = new AbortController();
  #failures = 0;
  #heldUntil = 0;
  #timer: Cancel | undefined;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#turns = options.rate.qps === 0 ? undefined : new TokenBucket(options.rate);
  }

  get counts(): Readonly<Record<EventOutcome, number>> {
    return this.#counts;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  add(told: PodEvent | NodeEvent): void {
    const { series, count } = told;
    const { node, resourceVersion } = this.#options;
    const before = this.#waiting.get(series);
    if (before === undefined && this.#waiting.size >= QUEUED) {
      this.#counts.dropped += 1;
      return;
    }
    const event = apiEvent(told, node, 'ref' in told ? resourceVersion(told.ref.uid) : undefined);
    this.#waiting.set(series, { event, count, tries: before?.tries ?? 0 });
    this.#pump();
  }

  /** What still waits is not written. */
  stop(): void {
    this.#timer?.();
    this.#waiting.clear();
    this.#ending.abort(new KubusError('stopped', 'status-manager ends'));
  }

  #pump(): void {
    this.#timer?.();
    this.#timer = undefined;
    const { clock } = this.#options;
    while (this.#running.size < (this.#failures === 0 ? AT_ONCE : 1)) {
      const next = [...this.#waiting].find(([series]) => !this.#running.has(series));
      if (next === undefined) return;
      const waitMs = this.#waitMs(clock.now());
      if (waitMs > 0) {
        this.#timer = clock.after(waitMs, () => this.#pump());
        return;
      }
      this.#waiting.delete(next[0]);
      void this.#run(...next);
    }
  }

  /** Milliseconds until an event may be written; 0: now, and its turn is taken. */
  #waitMs(now: number): number {
    if (now < this.#heldUntil) return this.#heldUntil - now;
    return this.#turns === undefined || this.#turns.tryTake(now) ? 0 : 1000 / this.#options.rate.qps;
  }

  async #run(series: string, waiting: Waiting): Promise<void> {
    this.#running.add(series);
    try {
      await this.#write(waiting);
      this.#failures = 0;
      this.#counts.written += 1;
    } catch (error) {
      this.#failed(series, waiting, error);
    }
    this.#running.delete(series);
    this.#pump();
  }

  /** Each way of writing can be repeated: the name of an event is that of its series. */
  async #write({ event, count }: Waiting): Promise<void> {
    const { namespace, name } = event;
    const path = kubePath({ version: 'v1', namespace, resource: 'events', name });
    const change = () => this.#request({ method: 'PATCH', path, patch: 'strategic', body: event.patch });
    const create = () =>
      this.#request({ method: 'POST', path: path.slice(0, path.lastIndexOf('/')), body: event.object });
    if (count > 1 && (await done(change(), 404))) return;
    if (await done(create(), 409)) return;
    // An earlier try has made it, of which no answer came.
    await change();
  }

  #failed(series: string, { event, count, tries }: Waiting, error: unknown): void {
    const { clock, ids, logger } = this.#options;
    if (!(error instanceof KubeError)) throw error;
    if (this.#ending.signal.aborted) return;
    const fields = { namespace: event.namespace, event: event.name, err: error };
    if (!isOutage(error)) {
      this.#failures = 0;
      this.#counts.rejected += 1;
      logger.debug(fields, 'the API server does not take an event');
      return;
    }
    // The first wait is random, so that not all nodes come back at the same moment.
    const waitMs = this.#failures === 0 ? RETRY_MS * ids.fraction() : RETRY_MS;
    this.#failures += 1;
    this.#heldUntil = clock.now() + Math.max(waitMs, error.retryAfterMs ?? 0);
    if (tries + 1 >= TRIES) {
      this.#counts.failed += 1;
      logger.warn(fields, 'an event was not written');
      return;
    }
    const newer = this.#waiting.get(series);
    this.#waiting.delete(series);
    const again = newer === undefined ? { event, count, tries: tries + 1 } : { ...newer, tries: tries + 1 };
    const others = [...this.#waiting];
    this.#waiting.clear();
    // It goes first again, or an outage would take the tries of all.
    for (const [key, value] of [[series, again] as const, ...others]) this.#waiting.set(key, value);
  }

  #request(request: Pick<KubeRequest, 'method' | 'path' | 'patch' | 'body'>): Promise<unknown> {
    const signal = this.#ending.signal;
    return this.#options.client.request({ ...request, unlimited: true, timeoutMs: TIMEOUT_MS, signal });
  }
}

/** False when the API server answers with `status`. */
async function done(request: Promise<unknown>, status: number): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (error instanceof KubeError && error.status === status) return false;
    throw error;
  }
}
