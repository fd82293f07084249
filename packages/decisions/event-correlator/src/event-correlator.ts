import type { PodEvent } from '@kubus/contracts';
import { type Rate, TokenBucket } from '@kubus/flow';
import { Recent } from './recent.ts';

/** A Kubernetes event as it is published: what has happened, and how often. */
export type CorrelatedEvent = Pick<PodEvent, 'message' | 'count' | 'firstTimestamp' | 'lastTimestamp' | 'series'>;

/** One occurrence. */
export interface Occurrence extends Pick<PodEvent, 'type' | 'reason' | 'message' | 'fieldPath'> {
  /** Identifies the object on the node: the pod's UID, or the node's name. */
  readonly object: string;
}

/** Similar events are combined into one from the tenth different message on. */
const SIMILAR = 10;
/** Not when nothing similar has happened for this time, in milliseconds. */
const SIMILAR_MS = 600_000;
/** How many events of one type a source may publish about one object; after that, one event every 5 min. */
const SPAM: Rate = { qps: 1 / 300, burst: 25 };
/** The number of series, of kinds of similar events, and of event types per object that are remembered. */
const REMEMBERED = 4096;

interface Similar {
  /** The different messages, in the order of their first occurrence. */
  readonly messages: Set<string>;
  readonly lastAt: number;
}

interface Series {
  readonly id: string;
  readonly count: number;
  readonly firstAt: number;
}

/**
 * Reduces the number of events in the same way as the reference's recorder (client-go, tools/record: aggregator, logger and spam filter,
 * with their defaults), and forgets objects that no longer exist. Repeats of an event become one series with a count. Events of one reason about one object whose
 * messages differ also become one series from the tenth message on. Events of one object and type above the limit are
 * counted but not published. The state lasts as long as the process.
 *
 * One correlator is for one source. Times are milliseconds since the Unix epoch.
 */
export class EventCorrelator {
  readonly #source: string;
  readonly #similar = new Recent<Similar>(REMEMBERED);
  readonly #series = new Recent<Series>(REMEMBERED);
  readonly #spam = new Recent<TokenBucket>(REMEMBERED);
  #made = 0;

  /** @param source identifies this run of a source on its node: it is the first part of the identity of each series */
  constructor(source: string) {
    this.#source = source;
  }

  /** What to publish for an event that happened at `now`; undefined: nothing. */
  correlate(event: Occurrence, now: number): CorrelatedEvent | undefined {
    const { key, message } = this.#aggregate(event, now);
    const last = this.#series.get(key);
    const series = { id: last?.id ?? this.#nextId(), count: (last?.count ?? 0) + 1, firstAt: last?.firstAt ?? now };
    this.#series.set(key, series);
    if (!this.#spamOf(event).tryTake(now)) return undefined;
    return {
      message,
      count: series.count,
      firstTimestamp: new Date(series.firstAt).toISOString(),
      lastTimestamp: new Date(now).toISOString(),
      series: series.id,
    };
  }

  /** The object does not exist any more: an event about it would be the first one. */
  forget(object: string): void {
    const prefix = prefixOf(object);
    for (const remembered of [this.#similar, this.#series, this.#spam]) remembered.forget(prefix);
  }

  /** The key of the event's series, and its message in it. */
  #aggregate(
    { object, type, reason, message, fieldPath = '' }: Occurrence,
    now: number,
  ): { key: string; message: string } {
    const kind = keyOf(object, type, reason);
    const last = this.#similar.get(kind);
    const messages = last !== undefined && now - last.lastAt <= SIMILAR_MS ? last.messages : new Set<string>();
    messages.add(message);
    this.#similar.set(kind, { messages, lastAt: now });
    if (messages.size < SIMILAR) return { key: keyOf(object, type, reason, fieldPath, message), message };
    // No more than ten are remembered, because only reaching that number matters.
    const [oldest = ''] = messages;
    messages.delete(oldest);
    return { key: kind, message: `(combined from similar events): ${message}` };
  }

  /** Warnings have a separate limit, so that they are published even for an object with many normal events. */
  #spamOf({ object, type }: Occurrence): TokenBucket {
    const key = keyOf(object, type);
    const bucket = this.#spam.get(key) ?? new TokenBucket(SPAM);
    this.#spam.set(key, bucket);
    return bucket;
  }

  #nextId(): string {
    this.#made += 1;
    return `${this.#source}.${this.#made}`;
  }
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

/** What the keys of one object begin with. */
function prefixOf(object: string): string {
  return `${keyOf(object).slice(0, -1)},`;
}
