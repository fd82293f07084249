import type { NodeEvent, PodEvent } from '@kubus/contracts';
import { type Rate, TokenBucket } from '@kubus/flow';
import { KubeError, type KubeRequest, type KubeRequester, isOutage, kubePath } from '@kubus/kube';
import { type ApiEvent, apiEvent } from '@kubus/pod-status';
import { type Cancel, type Clock, type Ids, KubusError, type Logger } from '@kubus/ports';

/** Limit of waiting events; further ones are dropped (client-go tools/record, maxQueuedEvents). */
const QUEUED = 1000;
/** Attempts of an event, and how long all events wait after a failure, in milliseconds (the same, defaultSleepDuration). */
const TRIES = 12;
const RETRY_MS = 10_000;
/** Parallel writes. */
const AT_ONCE = 4;
/** Milliseconds until a write counts as not answered. */
const TIMEOUT_MS = 10_000;

export interface EventWriterOptions {
  readonly client: KubeRequester;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** The node's name, as the reporter. */
  readonly node: string;
  /** With `qps` 0 there is no limit. */
  readonly rate: Rate;
  /** `metadata.resourceVersion` of a pod by its UID, if the API server has it. */
  readonly resourceVersion: (uid: string) => string | undefined;
}

interface Waiting {
  readonly event: ApiEvent;
  /** How often it has happened. */
  readonly count: number;
  readonly tries: number;
}

/** Results of events: `dropped` exceeded the limit of waiting ones, `failed` had too many attempts. */
export type EventOutcome = 'written' | 'rejected' | 'dropped' | 'failed';

/**
 * Writes the node's events to the API server (behaviour:events): a new series is created, a repeat patches it. Of a
 * series only the newest event waits. When the API server does not answer, all events wait with the failed one; a
 * refused event is not retried, such as in a namespace that is being deleted.
 */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #rate: TokenBucket | undefined;
  /** By series, the longest waiting first. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #running = new Set<string>();
  readonly #counts: Record<EventOutcome, number> = { written: 0, rejected: 0, dropped: 0, failed: 0 };
  readonly #ending = new AbortController();
  #failures = 0;
  #heldUntil = 0;
  #timer: Cancel | undefined;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#rate = options.rate.qps === 0 ? undefined : new TokenBucket(options.rate);
  }

  get counts(): Readonly<Record<EventOutcome, number>> {
    return this.#counts;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  add(record: PodEvent | NodeEvent): void {
    const { series, count } = record;
    const { node, resourceVersion } = this.#options;
    const before = this.#waiting.get(series);
    if (before === undefined && this.#waiting.size >= QUEUED) {
      this.#counts.dropped += 1;
      return;
    }
    const event = apiEvent(record, node, 'ref' in record ? resourceVersion(record.ref.uid) : undefined);
    this.#waiting.set(series, { event, count, tries: before?.tries ?? 0 });
    this.#pump();
  }

  /** Waiting events are not written. */
  stop(): void {
    this.#timer?.();
    this.#waiting.clear();
    this.#ending.abort(new KubusError('stopped', 'status-manager is stopping'));
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
    return this.#rate === undefined || this.#rate.tryTake(now) ? 0 : 1000 / this.#options.rate.qps;
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

  /** Each write can be repeated: the name of an event is that of its series. */
  async #write({ event, count }: Waiting): Promise<void> {
    const { namespace, name } = event;
    const path = kubePath({ version: 'v1', namespace, resource: 'events', name });
    const change = () => this.#request({ method: 'PATCH', path, patch: 'strategic', body: event.patch });
    const create = () =>
      this.#request({ method: 'POST', path: path.slice(0, path.lastIndexOf('/')), body: event.object });
    if (count > 1 && (await done(change(), 404))) return;
    if (await done(create(), 409)) return;
    // An earlier attempt without an answer has created it.
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
      logger.debug(fields, 'the API server refused an event');
      return;
    }
    // The first delay is random, so that not all nodes retry at the same moment.
    const waitMs = this.#failures === 0 ? RETRY_MS * ids.fraction() : RETRY_MS;
    this.#failures += 1;
    this.#heldUntil = clock.now() + Math.max(waitMs, error.retryAfterMs ?? 0);
    if (tries + 1 >= TRIES) {
      this.#counts.failed += 1;
      logger.warn(fields, 'cannot write an event');
      return;
    }
    const newer = this.#waiting.get(series);
    this.#waiting.delete(series);
    const again = newer === undefined ? { event, count, tries: tries + 1 } : { ...newer, tries: tries + 1 };
    const others = [...this.#waiting];
    this.#waiting.clear();
    // It stays first; otherwise an outage would use up the attempts of all.
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
