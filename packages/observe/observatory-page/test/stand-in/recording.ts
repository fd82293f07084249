import type {
  DensityDocument,
  MessageBrief,
  MessageDocument,
  MessagePage,
  PodSummary,
  PodTimeline,
  RecordingDocument,
} from '@kubus/contracts/observatory';
import { podLife } from './pod-life.ts';
import { type Story, type StoryMessage, namesOf, pace, storyOf, uidOf } from './story.ts';
import { summaryOf, timelineOf, wholeMessage } from './story-documents.ts';

export interface RecordingOptions {
  readonly name: string;
  readonly pods: number;
  readonly began: number;
  /** Time between the starts of two pods. */
  readonly everyMs: number;
  readonly slow?: number;
  readonly completeness?: RecordingDocument['completeness'];
}

export interface MessageQuery {
  readonly pod?: string | undefined;
  readonly type?: string | undefined;
  readonly source?: string | undefined;
  readonly kind?: string | undefined;
  readonly from: number;
  readonly to: number;
  readonly after: number;
  readonly limit: number;
}

const steps = podLife.length;

/** A recording of any size whose messages are generated on request; only their order is stored. */
export class StandInRecording {
  readonly options: RecordingOptions;
  state: RecordingDocument['state'];
  /** Index of each message in the order of time: pod times steps. */
  readonly #order: Uint32Array;
  readonly #rank: Uint32Array;
  readonly #at: Float64Array;
  readonly #index = new Map<string, number>();
  readonly #stories = new Map<number, Story>();
  readonly #now: () => number;

  constructor(options: RecordingOptions, state: RecordingDocument['state'], now: () => number = () => Infinity) {
    this.options = options;
    this.state = state;
    this.#now = now;
    const total = options.pods * steps;
    const at = new Float64Array(total);
    const paces = Array.from({ length: Math.min(pace, options.pods) }, (_, pod) => storyOf(pod, 0, options.slow));
    for (let pod = 0; pod < options.pods; pod++) {
      const began = this.#begin(pod);
      this.#index.set(uidOf(pod), pod);
      for (const sent of paces[pod % pace]?.sent ?? []) at[pod * steps + sent.step] = began + sent.at;
    }
    this.#order = Uint32Array.from({ length: total }, (_, index) => index).sort((a, b) => (at[a] ?? 0) - (at[b] ?? 0));
    this.#rank = new Uint32Array(total);
    this.#order.forEach((index, rank) => (this.#rank[index] = rank));
    this.#at = at;
  }

  get size(): number {
    return this.#firstAfter(this.#now());
  }

  document(): RecordingDocument {
    const { name, began, completeness } = this.options;
    const last = this.#timeOf(this.size - 1);
    return {
      name,
      node: 'node0',
      state: this.state,
      version: '0.1.0',
      began,
      ...(this.state === 'complete' && { ended: last }),
      firstAt: this.#timeOf(0),
      lastAt: last,
      messages: this.size,
      bytes: this.size * 900,
      completeness: completeness ?? { droppedByBroker: 0, neverStored: 0, unreadable: 0 },
    };
  }

  stories(): Story[] {
    const now = this.#now();
    return Array.from({ length: this.options.pods }, (_, pod) => pod)
      .filter((pod) => this.#begin(pod) <= now)
      .map((pod) => this.#story(pod));
  }

  pods(): PodSummary[] {
    if (this.#now() !== Infinity) return this.stories().map((story) => summaryOf(story, this.#now()));
    const paces = Array.from({ length: Math.min(pace, this.options.pods) }, (_, pod) => this.#story(pod));
    const summaries = paces.map((story) => summaryOf(story, Infinity));
    return Array.from({ length: this.options.pods }, (_, pod): PodSummary => {
      const like = summaries[pod % pace];
      if (like === undefined) throw new Error('a recording without pods');
      const later = this.#begin(pod) - this.#begin(pod % pace);
      return { ...like, ...namesOf(pod), firstAt: like.firstAt + later, lastAt: like.lastAt + later };
    });
  }

  story(uid: string): Story | undefined {
    const index = this.#index.get(uid);
    return index === undefined ? undefined : this.#story(index);
  }

  timeline(uid: string): PodTimeline | undefined {
    const story = this.story(uid);
    return story && timelineOf(story, this.#now(), this.numbered(story));
  }

  message(seq: number): MessageDocument | undefined {
    const found = this.#messageAt(seq);
    return found && wholeMessage(found.story, found.sent, this.numbered(found.story));
  }

  page(query: MessageQuery): MessagePage {
    const messages: MessageBrief[] = [];
    const end = Math.min(this.size, this.#firstAfter(query.to));
    const index = query.pod === undefined ? undefined : (this.#index.get(query.pod) ?? -1);
    for (let rank = Math.max(query.after, this.#firstAfter(query.from - 0.001)); rank < end; rank++) {
      const place = this.#order[rank] ?? 0;
      if (index !== undefined && Math.floor(place / steps) !== index) continue;
      const life = podLife[place % steps];
      if (query.type !== undefined && ![life?.type, life?.type.replace(/\/\d+$/, '')].includes(query.type)) continue;
      if (query.kind !== undefined && life?.kind !== query.kind) continue;
      if (query.source !== undefined && ![life?.service, `${life?.service ?? ''}-0`].includes(query.source)) continue;
      if (messages.length === query.limit) return { messages, next: messages.at(-1)?.seq ?? 0 };
      const found = this.#messageAt(rank + 1);
      if (found !== undefined) messages.push(this.numbered(found.story)(found.sent));
    }
    return { messages };
  }

  density(buckets: number): DensityDocument {
    const size = this.size;
    const from = this.#timeOf(0);
    const to = this.#timeOf(size - 1) + 0.001;
    const bucketMs = (to - from) / buckets;
    const counts = new Map<string, number[]>();
    for (let rank = 0; rank < size; rank++) {
      const place = this.#order[rank] ?? 0;
      const service = podLife[place % steps]?.service ?? '';
      const row = counts.get(service) ?? new Array<number>(buckets).fill(0);
      const bucket = Math.min(buckets - 1, Math.floor(((this.#at[place] ?? 0) - from) / bucketMs));
      row[bucket] = (row[bucket] ?? 0) + 1;
      counts.set(service, row);
    }
    return { from, to, bucketMs, services: [...counts].map(([service, row]) => ({ service, counts: row })) };
  }

  /** Sets the sequence numbers of a story's messages in the recording. */
  numbered(story: Story): (sent: StoryMessage) => MessageBrief {
    return ({ step, busMs: _bus, queueMs: _queue, workMs: _work, ...brief }) => ({
      seq: (this.#rank[story.index * steps + step] ?? 0) + 1,
      ...brief,
    });
  }

  #messageAt(seq: number): { story: Story; sent: StoryMessage } | undefined {
    const place = this.#order[seq - 1];
    if (place === undefined || seq > this.size) return undefined;
    const story = this.#story(Math.floor(place / steps));
    const sent = story.sent[place % steps];
    return sent && { story, sent };
  }

  #timeOf(rank: number): number {
    return this.#at[this.#order[rank] ?? 0] ?? 0;
  }

  /** Number of messages that were published until then. */
  #firstAfter(time: number): number {
    let low = 0;
    for (let high = this.#order.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (this.#timeOf(middle) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #story(pod: number): Story {
    const kept = this.#stories.get(pod);
    if (kept !== undefined) return kept;
    const story = this.#tell(pod);
    if (this.#stories.size > 2000) this.#stories.clear();
    this.#stories.set(pod, story);
    return story;
  }

  #tell(pod: number): Story {
    return storyOf(pod, this.#begin(pod), this.options.slow);
  }

  #begin(pod: number): number {
    const { began, everyMs } = this.options;
    return Math.round(began + pod * everyMs * (1 + 0.4 * Math.sin(pod / 40)));
  }
}
