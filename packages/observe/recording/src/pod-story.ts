import { HEADER } from '@kubus/bus';
import { type PodLife, type PodSigns, hasSigns, nextLife, payloadOf, saidOf, signsOf } from '@kubus/causality';
import { bareType } from '@kubus/contracts';
import type { PodSummary } from '@kubus/contracts/observatory';

/** The data of a pod in lists, updated with each message, so that lists need not read all messages. */
export interface PodStory extends PodLife<Moment>, Omit<PodSigns, 'wanted'> {
  readonly namespace: string;
  readonly name: string;
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
interface Way {
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

export const emptyStory: PodStory = { namespace: '', name: '' };

/** The part of a message that is needed here. */
export interface PodMessage extends Moment {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: string;
}

/** The story with one more message; the same object if it does not change. */
export function continued(story: PodStory, message: PodMessage): PodStory {
  const type = bareType(message.type);
  if (!hasSigns(type) && type !== 'sync.fact.pod') return story;
  const signs = signsOf(type, message.headers[HEADER.removed] !== undefined, payloadOf(message));
  if (signs === undefined) return story;
  const { wanted: _, ...shown } = signs;
  const { life, start, stop } = nextLife(story, signs, { seq: message.seq, at: message.at });
  return {
    ...{ ...story, ...shown, ...life },
    ...(start !== undefined && { start: way(start.from, start.to) }),
    ...(stop !== undefined && { stop: way(stop.from, stop.to) }),
  };
}

function way(from: Moment, to: Moment): Way {
  return { from: from.seq, to: to.seq, ms: to.at - from.at };
}

/** The story as a list of pods shows it. */
export function summaryOf(
  { namespace, name, start, stop, ...said }: PodStory,
  counted: Pick<PodSummary, 'uid' | 'firstAt' | 'lastAt' | 'messages'>,
): PodSummary {
  return {
    ...counted,
    namespace: namespace === '' ? (said.refused?.namespace ?? '') : namespace,
    name: name === '' ? (said.refused?.name ?? '') : name,
    ...saidOf(said),
    ...(start !== undefined && { startMs: start.ms }),
    ...(stop !== undefined && { stopMs: stop.ms }),
  };
}
