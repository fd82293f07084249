import { parseTime } from '@kubus/bus';
import { byId } from './causal-tree.ts';
import type { RecordedMessage } from './recorded-message.ts';

/** From one message to the next that waited for it. Times in milliseconds. */
export interface PathStep {
  readonly cause: RecordedMessage;
  readonly effect: RecordedMessage;
  /** From the publishing of the cause until its delivery to the publisher of the effect; 0 within one service. */
  readonly onBus: number;
  /** From then until the effect was published. */
  readonly working: number;
}

/**
 * What led to a message, first cause first: each step from the cause that was awaited last. Where the messages do not
 * hold a cause any more, the path begins.
 */
export function causalPath(messages: readonly RecordedMessage[], last: RecordedMessage): PathStep[] {
  const known = byId(messages);
  const steps: PathStep[] = [];
  for (let effect = last; ;) {
    const [awaited = ''] = effect.envelope.causes;
    const cause = known.get(awaited);
    // Every cause is older than its effect; a message that says otherwise does not lead us round in circles.
    if (cause === undefined || cause.at > effect.at) return steps.reverse();
    steps.push(stepBetween(cause, effect));
    effect = cause;
  }
}

function stepBetween(cause: RecordedMessage, effect: RecordedMessage): PathStep {
  const onBus = onBusBetween(cause, effect) ?? 0;
  return { cause, effect, onBus, working: effect.at - cause.at - onBus };
}

/**
 * How long a cause was on the bus until the publisher of its effect had it, in milliseconds. Undefined within one
 * service, and for a cause that is not the one that was awaited last: only of that one the effect tells.
 */
export function onBusBetween(cause: RecordedMessage, { envelope }: RecordedMessage): number | undefined {
  if (envelope.heard === undefined || envelope.causes[0] !== cause.envelope.cause.id) return undefined;
  return Math.max(0, parseTime(envelope.heard) - cause.at);
}
