import { HEADER } from '@kubus/bus';
import { bareType } from '@kubus/contracts';
import type { PodSummary } from '@kubus/observatory-api';

/** What a list of pods says of one, kept while messages come in: nobody has to read all of them for it. */
export interface PodStory {
  readonly namespace: string;
  readonly name: string;
  readonly phase?: string;
  readonly ready?: boolean;
  readonly worker?: string;
  /** Since when its source wants it, or wants it to go. */
  readonly wanted?: Moment | undefined;
  readonly unwanted?: Moment | undefined;
  /** It has been ready, or has succeeded, since its worker began with it. */
  readonly started?: boolean;
  /** Its last start and its last stop. */
  readonly start?: Way;
  readonly stop?: Way;
}

/** A message, and when it was published, in milliseconds since the Unix epoch. */
interface Moment {
  readonly seq: number;
  readonly at: number;
}

/** From one message to another. */
export interface Way {
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

export const untoldStory: PodStory = { namespace: '', name: '' };

/** A message of the pod, as far as it matters here. */
export interface PodMessage extends Moment {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: string;
}

interface Ref {
  namespace?: unknown;
  name?: unknown;
}

interface Payload {
  ref?: Ref;
  pod?: { metadata?: Ref & { deletionTimestamp?: unknown } };
  state?: unknown;
  status?: { phase?: unknown; conditions?: { type?: unknown; status?: unknown }[] };
}

const sources: ReadonlySet<string> = new Set(['config.fact.file', 'config.fact.http', 'config.fact.api']);
const telling: ReadonlySet<string> = new Set([...sources, 'sync.fact.pod', 'worker.fact.status', 'worker.fact.state']);

/**
 * The story with one more message; the same object when that says nothing new. A UID can come back after its pod was
 * finished (static pods), and its source may want it back while the last life still ends.
 */
export function continued(story: PodStory, message: PodMessage): PodStory {
  const type = bareType(message.type);
  if (!telling.has(type)) return story;
  const { seq, at } = message;
  const moment = { seq, at };
  const isSource = sources.has(type);
  if (message.headers[HEADER.removed] !== undefined) return isSource ? unwanted(story, moment) : story;
  const payload = parse(message.data);
  if (payload === undefined) return story;
  const ref = payload.ref ?? payload.pod?.metadata;
  const told = {
    ...story,
    ...(typeof ref?.namespace === 'string' && { namespace: ref.namespace }),
    ...(typeof ref?.name === 'string' && { name: ref.name }),
  };
  if (isSource) {
    const goes = typeof payload.pod?.metadata?.deletionTimestamp === 'string';
    return goes ? unwanted(told, moment) : { ...told, wanted: told.wanted ?? moment };
  }
  if (type === 'worker.fact.status') return withStatus(told, payload, moment);
  if (type !== 'worker.fact.state' || typeof payload.state !== 'string') return told;
  return payload.state === 'finished' ? finished(told, moment) : { ...told, worker: payload.state };
}

function unwanted(story: PodStory, moment: Moment): PodStory {
  return { ...story, wanted: undefined, unwanted: story.unwanted ?? moment };
}

function finished(story: PodStory, moment: Moment): PodStory {
  const { unwanted: from } = story;
  return {
    ...{ ...story, worker: 'finished', started: false, unwanted: undefined },
    ...(from !== undefined && { stop: way(from, moment) }),
  };
}

function withStatus(story: PodStory, { status }: Payload, moment: Moment): PodStory {
  const conditions = Array.isArray(status?.conditions) ? status.conditions : [];
  const ready = conditions.some((one) => one.type === 'Ready' && one.status === 'True');
  const phase = typeof status?.phase === 'string' ? status.phase : undefined;
  const { wanted, started = false } = story;
  const starts = (ready || phase === 'Succeeded') && !started && wanted !== undefined;
  return {
    ...{ ...story, ready },
    ...(phase !== undefined && { phase }),
    ...(starts && { started: true, start: way(wanted, moment) }),
  };
}

function way(from: Moment, to: Moment): Way {
  return { from: from.seq, to: to.seq, ms: to.at - from.at };
}

/** The story as a list of pods shows it. */
export function summaryOf(
  { namespace, name, phase, ready, worker, start, stop }: PodStory,
  counted: Pick<PodSummary, 'uid' | 'firstAt' | 'lastAt' | 'messages'>,
): PodSummary {
  return {
    ...{ ...counted, namespace, name },
    ...(phase !== undefined && { phase }),
    ...(ready !== undefined && { ready }),
    ...(worker !== undefined && { worker }),
    ...(start !== undefined && { startMs: start.ms }),
    ...(stop !== undefined && { stopMs: stop.ms }),
  };
}

function parse(text: string): Payload | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
