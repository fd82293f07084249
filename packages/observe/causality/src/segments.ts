import { bareType } from '@kubus/contracts';
import type { CriticalPath, MessageBrief, Segment } from '@kubus/contracts/observatory';

/** How the time between a cause and its effect was spent, in milliseconds; the three make up all of it. */
export interface Spent {
  readonly busMs: number;
  readonly queueMs: number;
  readonly workMs: number;
}

/**
 * A message carries the time of receipt of its first cause only, and only if that came from another service. For
 * every other cause all of the time counts as work.
 */
export function spentBetween(cause: MessageBrief, effect: MessageBrief): Spent {
  const ms = effect.at - cause.at;
  if (effect.causes[0] !== cause.id) return { busMs: 0, queueMs: 0, workMs: ms };
  const received = between(cause.at, effect.heard ?? cause.at, effect.at);
  const began = between(received, effect.began ?? received, effect.at);
  return { busMs: received - cause.at, queueMs: began - received, workMs: effect.at - began };
}

/** The part of a {@link MessageBrief} that paths need. */
export type PathMessage = Pick<MessageBrief, 'id' | 'type' | 'kind' | 'service' | 'at' | 'causes'>;

/** One step of a path: from a message to the next one, which waited for it. */
export interface PathStep<Message> extends Pick<Segment, 'service' | 'step' | 'ms'> {
  readonly cause: Message;
  readonly effect: Message;
}

/**
 * The steps from `from` to `to`: backwards from the end, each time to the cause that was awaited last, until a message that
 * is not later than the start. If `find` does not lead back to `from`, the first step covers the rest.
 *
 * @param find the message of an id; undefined for one that is unknown or not part of the story.
 */
export function pathSteps<Message extends PathMessage>(
  from: Message,
  to: Message,
  find: (id: string) => Message | undefined,
): PathStep<Message>[] {
  const effects: Message[] = [];
  const seen = new Set<string>();
  // A cause is older than its effect; the check prevents endless loops on invalid data.
  for (let at: Message | undefined = to; at !== undefined && at.at > from.at;) {
    effects.push(at);
    seen.add(at.id);
    const cause: Message | undefined = find(at.causes[0] ?? '');
    at = cause !== undefined && cause.at <= at.at && !seen.has(cause.id) ? cause : undefined;
  }
  effects.reverse();
  return numbered(
    effects.map((effect, index) => {
      const cause = effects[index - 1] ?? from;
      return { cause, effect, service: effect.service, step: stepOf(cause, effect), ms: effect.at - cause.at };
    }),
  );
}

/** The steps from `from` to `to` with how the time of each was spent; see {@link pathSteps}. */
export function criticalPath(
  what: CriticalPath['what'],
  from: MessageBrief,
  to: MessageBrief,
  messages: ReadonlyMap<string, MessageBrief>,
): CriticalPath {
  const segments = pathSteps(from, to, (id) => messages.get(id)).map((step): Segment => ({
    ...step,
    ...spentBetween(step.cause, step.effect),
  }));
  const sum = (of: (segment: Segment) => number) => segments.reduce((whole, segment) => whole + of(segment), 0);
  return {
    what,
    from,
    to,
    ms: to.at - from.at,
    busMs: sum(({ busMs }) => busMs),
    queueMs: sum(({ queueMs }) => queueMs),
    workMs: sum(({ workMs }) => workMs),
    segments,
  };
}

/** `sync.fact.pod > pod-workers runtime.cmd.RunPodSandbox`: the key by which steps of different pods are compared. */
function stepOf(cause: PathMessage, effect: PathMessage): string {
  return `${nameOf(cause)} > ${effect.service} ${nameOf(effect)}`;
}

/** The type in the message without its version, for replies too. */
export function nameOf({ type, kind }: Pick<MessageBrief, 'type' | 'kind'>): string {
  const bare = bareType(type);
  return kind === 'reply' ? bare.replace('.cmd.', '.reply.') : bare;
}

/** A repeated step, such as that of a second container, gets a name of its own. */
function numbered<Step extends Pick<Segment, 'step'>>(steps: readonly Step[]): Step[] {
  const seen = new Map<string, number>();
  return steps.map((one) => {
    const count = (seen.get(one.step) ?? 0) + 1;
    seen.set(one.step, count);
    return count === 1 ? one : { ...one, step: `${one.step} #${count}` };
  });
}

function between(low: number, value: number, high: number): number {
  return Math.min(Math.max(low, value), high);
}
