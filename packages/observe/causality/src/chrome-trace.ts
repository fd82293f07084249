import { MessageIndex } from './message-index.ts';
import { nameOf } from './segments.ts';
import { type TimedMessage, timedMessages } from './spans.ts';
import type { StoredMessage } from '@kubus/bus';

/** One event of the Trace Event Format; times in microseconds. */
type TraceEvent = Readonly<Record<string, unknown>>;

/** The position of a message. */
interface Place {
  readonly pid: number;
  readonly tid: number;
  /** Its end. */
  readonly at: number;
}

/** Width of slices without a duration, so that they are visible and arrows find them. */
const LEAST_US = 1;

/**
 * A Chrome trace (JSON object format), in pieces of one document; Perfetto opens it. One process for each service, in it
 * one track for each pod and as many more as overlap, and an arrow from each cause to its effect. `messages` in the order of
 * the broker.
 *
 * Source: Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
 */
export function* chromeTraceOf(messages: Iterable<StoredMessage>): Generator<string> {
  const tracks = new Tracks();
  const places = new MessageIndex<Place>();
  let flows = 0;
  let separator = '{"displayTimeUnit":"ms","traceEvents":[\n';
  const piece = (events: readonly TraceEvent[]): string => {
    const text = `${separator}${events.map((event) => JSON.stringify(event)).join(',\n')}`;
    separator = ',\n';
    return text;
  };
  for (const message of timedMessages(messages)) {
    const { brief } = message;
    const at = microseconds(brief.at);
    const ts = Math.min(microseconds(message.from), at - LEAST_US);
    const { place, events } = tracks.place(message, ts, at);
    places.set(brief.id, place);
    const where = { pid: place.pid, tid: place.tid };
    const slice = { ph: 'X', name: nameOf(brief), cat: brief.kind, ts, dur: at - ts, ...where, args: argsOf(message) };
    const arrows = brief.causes.flatMap((id): TraceEvent[] => {
      const cause = places.get(id);
      // An arrow cannot go back in time.
      if (cause === undefined || cause.at > at) return [];
      const flow = { name: 'cause', cat: 'cause', id: ++flows };
      const from = { ph: 's', ...flow, ts: cause.at - LEAST_US / 2, pid: cause.pid, tid: cause.tid };
      return [from, { ph: 'f', bp: 'e', ...flow, ts: Math.max(ts, cause.at - LEAST_US / 2), ...where }];
    });
    yield piece([...events, slice, ...arrows]);
  }
  yield `${separator.startsWith('{') ? separator : '\n'}]}\n`;
}

function argsOf({ brief, podName }: TimedMessage): TraceEvent {
  const pod = podName === undefined ? brief.pod : `${podName.namespace}/${podName.name}`;
  return {
    id: brief.id,
    source: brief.source,
    subject: brief.subject,
    says: brief.summary,
    ...(pod !== undefined && { pod }),
    ...(brief.causes.length > 0 && { causes: brief.causes.join(', ') }),
  };
}

/** Assigns processes and tracks so that no two slices of a track overlap. */
class Tracks {
  readonly #processes = new Map<string, number>();
  /** By service and pod: its tracks, with the end of the last slice in each. */
  readonly #tracks = new Map<string, { readonly tid: number; end: number }[]>();
  #tids = 0;

  place(message: TimedMessage, from: number, at: number): { place: Place; events: TraceEvent[] } {
    const { service, pod = '' } = message.brief;
    const events: TraceEvent[] = [];
    let pid = this.#processes.get(service);
    if (pid === undefined) {
      pid = this.#processes.size + 1;
      this.#processes.set(service, pid);
      events.push({ ph: 'M', name: 'process_name', pid, args: { name: service } });
    }
    const key = `${service} ${pod}`;
    const tracks = this.#tracks.get(key) ?? [];
    this.#tracks.set(key, tracks);
    let track = tracks.find(({ end }) => end <= from);
    if (track === undefined) {
      track = { tid: ++this.#tids, end: at };
      tracks.push(track);
      const name = trackName(message, tracks.length);
      events.push({ ph: 'M', name: 'thread_name', pid, tid: track.tid, args: { name } });
    }
    track.end = at;
    return { place: { pid, tid: track.tid, at }, events };
  }
}

function trackName({ brief, podName }: TimedMessage, count: number): string {
  const name = podName?.name ?? brief.pod ?? 'the node';
  return count === 1 ? name : `${name} (${count})`;
}

function microseconds(ms: number): number {
  return Math.round(ms * 1000);
}
