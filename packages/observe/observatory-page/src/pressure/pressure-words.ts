import type { PressureDocument, SignalDocument, ThresholdDocument } from '@kubus/contracts/observatory';
import { clockSeconds } from '../format/moment.ts';
import { duration } from '../format/quantity.ts';

/** What the node is short of, in a sentence. */
export function stateWords({ conditions, transitionSeconds }: PressureDocument): string {
  if (conditions.length === 0) return 'The node is short of nothing.';
  const lasts = `A condition lasts ${duration(transitionSeconds * 1000)} after its last reason.`;
  return `The node is short: ${conditions.join(', ')}. ${lasts}`;
}

/** `hard`, or how long the signal has to be below it. */
export function graceWords({ graceSeconds }: Pick<ThresholdDocument, 'graceSeconds'>): string {
  return graceSeconds === 0 ? 'hard' : `soft, after ${duration(graceSeconds * 1000)}`;
}

/** When the signal is below the threshold, at the slope of the last minute. */
export function reachedWords({ since, secondsLeft }: Pick<ThresholdDocument, 'since' | 'secondsLeft'>): string {
  if (since !== undefined) return `below it since ${clockSeconds(since)}`;
  return secondsLeft === undefined ? 'comes no nearer' : `reached in ${duration(secondsLeft * 1000)}`;
}

/** `1.9 GiB of 7.6 GiB, -6.0 MiB/s` */
export function leftWords({ available, capacity, change }: SignalDocument): string {
  if (available === undefined || capacity === undefined) return 'could not be read';
  return `${available} of ${capacity}${change === undefined ? '' : `, ${change}`}`;
}

/** What the chart of a signal shows, for those who do not see it. */
export function chartWords({ signal, thresholds, curve }: SignalDocument): string {
  const [first, last] = [curve[0], curve.at(-1)];
  const limits = thresholds.map(({ value, part, ...one }) => {
    return `${graceWords(one)} threshold ${value}${part === undefined ? '' : ` at ${percent(part)}`}`;
  });
  const course =
    first === undefined || last === undefined || first === last
      ? `${signal}: ${last === undefined ? 'no reading' : percent(last.part)}`
      : `${signal} over ${duration(last.at - first.at)}: from ${percent(first.part)} to ${percent(last.part)} of the capacity`;
  return [course, ...limits].join('; ');
}

/** `2.6 %`, `50 %` */
export function percent(part: number): string {
  const value = part * 100;
  return `${value < 10 && value > 0 ? value.toFixed(1) : Math.round(value)}\u202f%`;
}
