import { HEADER } from '@kubus/bus';
import type { CriticalPath, MessageBrief, PodSummary, PodTimeline } from '@kubus/observatory-api';
import { readMessage } from './brief.ts';
import { type PodSigns, signsOf } from './pod-signs.ts';
import { criticalPath } from './segments.ts';
import type { StoredMessage } from './stored-message.ts';
import { WorkSpans } from './work-spans.ts';

/** One message of a pod, without its payload. */
interface Told {
  readonly brief: MessageBrief;
  readonly signs: PodSigns | undefined;
}

/**
 * All of one pod. `messages`: those with its UID, and those of nobody's pod that led to one of them, through any number of
 * others of nobody's pod; each once or more often, in any order. Messages of other pods do no harm.
 */
export function podTimeline(uid: string, messages: Iterable<StoredMessage>): PodTimeline {
  const story = readStory(uid, messages);
  const shown = story.told.map(({ brief }) => brief);
  const own = shown.filter(({ pod }) => pod === uid);
  return {
    pod: summaryOf(uid, story),
    messages: shown,
    spans: story.spans,
    paths: pathsOf(story),
    // What only led to the pod comes to it by what the pod's own services say.
    services: [...new Set([...own, ...shown].map(({ service }) => service))],
  };
}

/** The first part of {@link podTimeline}, from the messages with the pod's UID alone. */
export function podSummary(uid: string, messages: Iterable<StoredMessage>): PodSummary {
  return summaryOf(uid, readStory(uid, messages));
}

/** The critical paths that the pod has come to the end of: none, one, or both. `messages` as of {@link podTimeline}. */
export function criticalPaths(uid: string, messages: Iterable<StoredMessage>): CriticalPath[] {
  return pathsOf(readStory(uid, messages));
}

interface Story {
  /** In the order of their publication. */
  readonly told: readonly Told[];
  readonly own: readonly Told[];
  readonly spans: PodTimeline['spans'];
}

function readStory(uid: string, messages: Iterable<StoredMessage>): Story {
  const known = new Map<string, Told>();
  const spans = new WorkSpans();
  for (const stored of messages) {
    const pod = stored.message.headers[HEADER.pod];
    if (pod !== undefined && pod !== uid) continue;
    const read = readMessage(stored);
    if (read === undefined) continue;
    const { brief } = read;
    // The same fact is stored again after a connection was lost; the first time is when it was said.
    const before = known.get(brief.id);
    if (before !== undefined && before.brief.seq <= brief.seq) continue;
    known.set(brief.id, { brief, signs: brief.pod === uid ? signsOf(read) : undefined });
    if (brief.pod === uid && before === undefined) spans.add(read);
  }
  const told = ledTo(uid, known).sort((a, b) => a.brief.at - b.brief.at || a.brief.seq - b.brief.seq);
  return { told, own: told.filter(({ brief }) => brief.pod === uid), spans: spans.all() };
}

/** The pod's own messages, and what of the others led to them. */
function ledTo(uid: string, known: ReadonlyMap<string, Told>): Told[] {
  const found = new Set<Told>();
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
  const [phase, ready, worker] = [last('phase'), last('ready'), last('worker')];
  const paths = pathsOf(story);
  const ms = (what: CriticalPath['what']) => paths.find((path) => path.what === what)?.ms;
  const [startMs, stopMs] = [ms('start'), ms('stop')];
  return {
    uid,
    namespace: last('namespace') ?? '',
    name: last('name') ?? '',
    firstAt: own[0]?.brief.at ?? 0,
    lastAt: own.at(-1)?.brief.at ?? 0,
    messages: own.length,
    ...(phase !== undefined && { phase }),
    ...(ready !== undefined && { ready }),
    ...(worker !== undefined && { worker }),
    ...(startMs !== undefined && { startMs }),
    ...(stopMs !== undefined && { stopMs }),
  };
}

/** A UID can come back after its pod was finished (static pods): the last start and the last stop are shown. */
function pathsOf({ told, own }: Story): CriticalPath[] {
  const messages = new Map(told.map(({ brief }) => [brief.id, brief]));
  const ends = { start: startOf(own), stop: stopOf(own) };
  return (['start', 'stop'] as const).flatMap((what) => {
    const { from, to } = ends[what] ?? {};
    return from === undefined || to === undefined ? [] : [criticalPath(what, from, to, messages)];
  });
}

interface Ends {
  readonly from: MessageBrief;
  readonly to: MessageBrief;
}

/**
 * From the source's first word of the pod to the first status that says that it is ready, or has succeeded. A source may
 * want a pod back while its last life still ends: what that one says counts for nothing.
 */
function startOf(own: readonly Told[]): Ends | undefined {
  let from: MessageBrief | undefined;
  let found: Ends | undefined;
  let started = false;
  for (const { brief, signs } of own) {
    if (signs?.wanted === true) from ??= brief;
    if (signs?.wanted === false) from = undefined;
    if (signs?.worker === 'finished') started = false;
    if (from === undefined || started || (signs?.ready !== true && signs?.phase !== 'Succeeded')) continue;
    found = { from, to: brief };
    started = true;
  }
  return found;
}

/** From the source's first word that the pod is to go to the worker's word that nothing of it is left. */
function stopOf(own: readonly Told[]): Ends | undefined {
  let from: MessageBrief | undefined;
  let found: Ends | undefined;
  for (const { brief, signs } of own) {
    if (signs?.wanted === false) from ??= brief;
    if (signs?.worker !== 'finished' || from === undefined) continue;
    found = { from, to: brief };
    from = undefined;
  }
  return found;
}
