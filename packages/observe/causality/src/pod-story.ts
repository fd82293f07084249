import { HEADER, type StoredMessage } from '@kubus/bus';
import { bareType } from '@kubus/contracts';
import type { CriticalPath, MessageBrief, PodSummary, PodTimeline } from '@kubus/contracts/observatory';
import { type ReadMessage, readMessage } from './brief.ts';
import { type AskedPod, podAnswer } from './pod-answer.ts';
import { evidenceOf } from './explain/evidence.ts';
import { explain } from './explain/explain.ts';
import { recordedPod } from './explain/recorded-pod.ts';
import { type PodLife, type Way, nextLife } from './pod-life.ts';
import { type PodNote, noteOf } from './pod-notes.ts';
import { type PodSigns, signsOf } from './pod-signs.ts';
import { saidOf } from './pod-state.ts';
import { criticalPath } from './segments.ts';
import { podDevices } from './topology/pod-devices.ts';
import { WorkSpans } from './work-spans.ts';

/** One message of a pod. */
interface StoryMessage {
  readonly stored: StoredMessage;
  readonly brief: MessageBrief;
  readonly signs: PodSigns | undefined;
  readonly note: PodNote | undefined;
}

/**
 * The timeline of one pod. `messages`: those with its UID, and their direct and indirect causes that belong to no pod;
 * in any order, with duplicates. Messages of other pods are ignored. `starts`: how long the last starts of other pods took, in
 * milliseconds, for the answer to compare with.
 */
export function podTimeline(
  uid: string,
  messages: Iterable<StoredMessage>,
  starts: readonly number[] = [],
): PodTimeline {
  const story = readStory(uid, messages);
  const shown = story.messages.map(({ brief }) => brief);
  const own = shown.filter(({ pod }) => pod === uid);
  const notes = story.own.flatMap(({ brief, note }): AskedPod['notes'] =>
    note === undefined ? [] : [{ brief, note }],
  );
  const parts = { pod: summaryOf(uid, story), messages: shown, spans: story.spans, paths: pathsOf(story) };
  return {
    ...parts,
    answer: podAnswer({ ...parts, notes, explained: explainedBy(story.own), starts }),
    // Messages that only led to the pod do not count as services of the pod.
    services: [...new Set([...own, ...shown].map(({ service }) => service))],
    ...podDevices(story.own.map(({ stored }) => stored)),
  };
}

/** What a pod waits for or why it failed, by its own messages: a recording is of the past, so the text has no ages. */
function explainedBy(own: Story['own']): AskedPod['explained'] {
  const messages = own.map(({ stored }) => stored);
  const known = recordedPod(messages);
  if (known === undefined) return undefined;
  const { state, text, notice, says } = explain({ ...known, nodeProblems: [], now: undefined });
  return { state, text, notice, said: evidenceOf(messages, says) };
}

/** The first part of {@link podTimeline}, from the messages with the pod's UID alone. */
export function podSummary(uid: string, messages: Iterable<StoredMessage>): PodSummary {
  return summaryOf(uid, readStory(uid, messages));
}

/** The completed critical paths of the pod: none, one, or both. `messages` as of {@link podTimeline}. */
export function criticalPaths(uid: string, messages: Iterable<StoredMessage>): CriticalPath[] {
  return pathsOf(readStory(uid, messages));
}

interface Story {
  /** In the order of their publication. */
  readonly messages: readonly StoryMessage[];
  readonly own: readonly StoryMessage[];
  readonly spans: PodTimeline['spans'];
}

function readStory(uid: string, messages: Iterable<StoredMessage>): Story {
  const known = new Map<string, StoryMessage>();
  const spans = new WorkSpans();
  for (const stored of messages) {
    const pod = stored.message.headers[HEADER.pod];
    if (pod !== undefined && pod !== uid) continue;
    const read = readMessage(stored);
    if (read === undefined) continue;
    const { brief } = read;
    // A fact is stored again after a lost connection; the first time is that of its publication.
    const before = known.get(brief.id);
    if (before !== undefined && before.brief.seq <= brief.seq) continue;
    const ofPod = brief.pod === uid;
    known.set(brief.id, {
      stored,
      brief,
      signs: ofPod ? signsIn(read) : undefined,
      note: ofPod ? noteOf(read) : undefined,
    });
    if (ofPod && before === undefined) spans.add(read);
  }
  const shown = ledTo(uid, known).sort((a, b) => a.brief.at - b.brief.at || a.brief.seq - b.brief.seq);
  return { messages: shown, own: shown.filter(({ brief }) => brief.pod === uid), spans: spans.all() };
}

/** The pod's own messages and their causes. */
function ledTo(uid: string, known: ReadonlyMap<string, StoryMessage>): StoryMessage[] {
  const found = new Set<StoryMessage>();
  const open = [...known.values()].filter(({ brief }) => brief.pod === uid);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    for (const id of next.brief.causes) {
      const cause = known.get(id);
      if (cause !== undefined) open.push(cause);
    }
  }
  return [...found];
}

function summaryOf(uid: string, story: Story): PodSummary {
  const { own } = story;
  const last = <Name extends keyof PodSigns>(name: Name): PodSigns[Name] =>
    own.findLast(({ signs }) => signs?.[name] !== undefined)?.signs?.[name];
  const paths = pathsOf(story);
  const ms = (what: CriticalPath['what']) => paths.find((path) => path.what === what)?.ms;
  const [startMs, stopMs] = [ms('start'), ms('stop')];
  const refused = last('refused');
  return {
    uid,
    namespace: last('namespace') ?? refused?.namespace ?? '',
    name: last('name') ?? refused?.name ?? '',
    firstAt: own[0]?.brief.at ?? 0,
    lastAt: own.at(-1)?.brief.at ?? 0,
    messages: own.length,
    ...saidOf({
      ...{ phase: last('phase'), ready: last('ready'), worker: last('worker') },
      ...{ trouble: last('trouble'), retried: last('retried'), refused },
    }),
    ...(startMs !== undefined && { startMs }),
    ...(stopMs !== undefined && { stopMs }),
  };
}

/** A UID can be reused after its pod has finished (static pods): the last start and the last stop are shown. */
function pathsOf({ messages: all, own }: Story): CriticalPath[] {
  const messages = new Map(all.map(({ brief }) => [brief.id, brief]));
  const ends = lastWays(own);
  return (['start', 'stop'] as const).flatMap((what) => {
    const { from, to } = ends[what] ?? {};
    return from === undefined || to === undefined ? [] : [criticalPath(what, from, to, messages)];
  });
}

/** The last start and the last stop, by {@link nextLife}. */
function lastWays(own: readonly StoryMessage[]): { start?: Way<MessageBrief>; stop?: Way<MessageBrief> } {
  let life: PodLife<MessageBrief> = {};
  let ways: { start?: Way<MessageBrief>; stop?: Way<MessageBrief> } = {};
  for (const { brief, signs } of own) {
    if (signs === undefined) continue;
    const { life: next, ...found } = nextLife(life, signs, brief);
    life = next;
    ways = { ...ways, ...found };
  }
  return ways;
}

function signsIn({ brief, recorded, payload }: ReadMessage): PodSigns | undefined {
  if (brief.kind !== 'fact' && brief.kind !== 'event') return undefined;
  return signsOf(bareType(brief.type), recorded.message.headers[HEADER.removed] !== undefined, payload);
}
