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
  /** Since when its source wants it, or wants it to go; milliseconds since the Unix epoch. */
  readonly wantedAt?: number | undefined;
  readonly unwantedAt?: number | undefined;
  /** It has been ready, or has succeeded, since its worker began with it. */
  readonly started?: boolean;
  /** How long its last start and its last stop took, in milliseconds. */
  readonly startMs?: number;
  readonly stopMs?: number;
}

export const untoldStory: PodStory = { namespace: '', name: '' };

/** A message of the pod, as far as it matters here. */
export interface PodMessage {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: string;
  readonly at: number;
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
  const { at } = message;
  const isSource = sources.has(type);
  if (message.headers[HEADER.removed] !== undefined) return isSource ? unwanted(story, at) : story;
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
    return goes ? unwanted(told, at) : { ...told, wantedAt: told.wantedAt ?? at };
  }
  if (type === 'worker.fact.status') return withStatus(told, payload, at);
  if (type !== 'worker.fact.state' || typeof payload.state !== 'string') return told;
  return payload.state === 'finished' ? finished(told, at) : { ...told, worker: payload.state };
}

function unwanted(story: PodStory, at: number): PodStory {
  return { ...story, wantedAt: undefined, unwantedAt: story.unwantedAt ?? at };
}

function finished(story: PodStory, at: number): PodStory {
  const { unwantedAt } = story;
  return {
    ...{ ...story, worker: 'finished', started: false, unwantedAt: undefined },
    ...(unwantedAt !== undefined && { stopMs: at - unwantedAt }),
  };
}

function withStatus(story: PodStory, { status }: Payload, at: number): PodStory {
  const conditions = Array.isArray(status?.conditions) ? status.conditions : [];
  const ready = conditions.some((one) => one.type === 'Ready' && one.status === 'True');
  const phase = typeof status?.phase === 'string' ? status.phase : undefined;
  const { wantedAt, started = false } = story;
  const starts = (ready || phase === 'Succeeded') && !started && wantedAt !== undefined;
  return {
    ...{ ...story, ready },
    ...(phase !== undefined && { phase }),
    ...(starts && { started: true, startMs: at - wantedAt }),
  };
}

/** The story as a list of pods shows it. */
export function summaryOf(
  { namespace, name, phase, ready, worker, startMs, stopMs }: PodStory,
  counted: Pick<PodSummary, 'uid' | 'firstAt' | 'lastAt' | 'messages'>,
): PodSummary {
  return {
    ...{ ...counted, namespace, name },
    ...(phase !== undefined && { phase }),
    ...(ready !== undefined && { ready }),
    ...(worker !== undefined && { worker }),
    ...(startMs !== undefined && { startMs }),
    ...(stopMs !== undefined && { stopMs }),
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
