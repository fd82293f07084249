import { bareType } from '@kubus/contracts';
import type { CriticalPath, MessageBrief, Segment } from '@kubus/observatory-api';

/** How the time between a cause and its effect was spent, in milliseconds; the three make up all of it. */
export interface Spent {
  readonly busMs: number;
  readonly queueMs: number;
  readonly workMs: number;
}

/**
 * Only of its first cause does a message tell when that had arrived, and that only if it came from another service. For
 * every other cause all of the time counts as work.
 */
export function spentBetween(cause: MessageBrief, effect: MessageBrief): Spent {
  const ms = effect.at - cause.at;
  if (effect.causes[0] !== cause.id) return { busMs: 0, queueMs: 0, workMs: ms };
  const heard = between(cause.at, effect.heard ?? cause.at, effect.at);
  const began = between(heard, effect.began ?? heard, effect.at);
  return { busMs: heard - cause.at, queueMs: began - heard, workMs: effect.at - began };
}

/**
 * From `from` to `to`: backwards from the end, each time to the cause that was awaited last, until a message that is not
 * younger than the beginning. Where the recording does not lead back to `from`, the first step covers what lies between.
 */
export function criticalPath(
  what: CriticalPath['what'],
  from: MessageBrief,
  to: MessageBrief,
  messages: ReadonlyMap<string, MessageBrief>,
): CriticalPath {
  const steps: MessageBrief[] = [];
  // Every cause is older than its effect: what says otherwise does not lead us round in circles.
  for (let at: MessageBrief | undefined = to; at !== undefined && at.at > from.at;) {
    steps.unshift(at);
    const cause: MessageBrief | undefined = messages.get(at.causes[0] ?? '');
    at = cause !== undefined && cause.at <= at.at && !steps.includes(cause) ? cause : undefined;
  }
  const segments = numbered(
    steps.map((effect, index) => {
      const cause = steps[index - 1] ?? from;
      const step = stepOf(cause, effect);
      return { cause, effect, service: effect.service, step, ...spentBetween(cause, effect), ms: effect.at - cause.at };
    }),
  );
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

/** `sync.fact.pod > pod-workers runtime.cmd.RunPodSandbox`: what steps of different pods have in common. */
function stepOf(cause: MessageBrief, effect: MessageBrief): string {
  return `${nameOf(cause)} > ${effect.service} ${nameOf(effect)}`;
}

/** The type as it stands in the message, without its version: that of a reply too. */
export function nameOf({ type, kind }: Pick<MessageBrief, 'type' | 'kind'>): string {
  const bare = bareType(type);
  return kind === 'reply' ? bare.replace('.cmd.', '.reply.') : bare;
}

/** The second of the same steps, such as that of a second container, is another one. */
function numbered(segments: readonly Segment[]): Segment[] {
  const seen = new Map<string, number>();
  return segments.map((segment) => {
    const count = (seen.get(segment.step) ?? 0) + 1;
    seen.set(segment.step, count);
    return count === 1 ? segment : { ...segment, step: `${segment.step} #${count}` };
  });
}

function between(low: number, value: number, high: number): number {
  return Math.min(Math.max(low, value), high);
}
