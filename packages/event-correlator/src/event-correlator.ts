import type { PodEvent } from '@kubus/contracts';
import { Recent } from './recent.ts';
import { type Rate, TokenBucket } from './token-bucket.ts';

/** An event as it is told to the pod's user: what happened, and how often it has. */
export type CorrelatedEvent = Pick<PodEvent, 'message' | 'count' | 'firstTimestamp' | 'lastTimestamp' | 'series'>;

/** What happened once. */
export interface Occurrence extends Pick<PodEvent, 'type' | 'reason' | 'message' | 'fieldPath'> {
  /** What it happened to, as nothing else on the node is named: the pod's UID, or the node's name. */
  readonly object: string;
}

/** Similar events are told as one from the tenth different message on. */
const SIMILAR = 10;
/** Unless nothing similar has happened for so long, in milliseconds. */
const SIMILAR_MS = 600_000;
/** What a source may tell of one type about one object: then one event every 5 min. */
const SPAM: Rate = { qps: 1 / 300, burst: 25 };
/** How many series, kinds of similar events, and types of events about an object are remembered. */
const REMEMBERED = 4096;

interface Similar {
  /** The different messages, the one that came first before the others. */
  readonly messages: Set<string>;
  readonly lastAt: number;
}

interface Series {
  readonly id: string;
  readonly count: number;
  readonly firstAt: number;
}

/**
 * Makes few events of many, as the reference's recorder does (client-go, tools/record: aggregator, logger and spam filter,
 * with their defaults). Repeats of an event are one series with a count; events of one reason about one object whose
 * messages differ become one series too from the tenth message on; and who tells too much of one object and
 * type is not heard, though it is counted. All of it lasts as long as the process.
 *
 * One correlator is for one source. Times are milliseconds since the Unix epoch.
 */
export class EventCorrelator {
  readonly #source: string;
  readonly #similar = new Recent<Similar>(REMEMBERED);
  readonly #series = new Recent<Series>(REMEMBERED);
  readonly #spam = new Recent<TokenBucket>(REMEMBERED);
  #made = 0;

  /** @param source names this life of a source on its node: it is the first part of the identity of each series. */
  constructor(source: string) {
    this.#source = source;
  }

  /** What to tell of an event that happened at `now`; undefined for nothing. */
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
    // No more than ten are remembered: they only have to be that many.
    const [oldest = ''] = messages;
    messages.delete(oldest);
    return { key: kind, message: `(combined from similar events): ${message}` };
  }

  /** Warnings have their own, so that they are heard of an object of which much that is normal is told. */
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
