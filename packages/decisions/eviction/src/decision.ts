import type { EvictionDecision, EvictionRanking, Reclaimed } from '@kubus/contracts';
import type { Observations } from './signals.ts';
import { type Threshold, amountOf, amountText } from './thresholds.ts';

/** What the message that asks for an eviction says of its reasons; undefined without a reading of the signal. */
export function decisionOf(
  { signal, value, graceMs }: Threshold,
  observations: Observations,
  { reclaimed, ranking }: { readonly reclaimed: readonly Reclaimed[]; readonly ranking: EvictionRanking },
): EvictionDecision | undefined {
  const observed = observations[signal];
  if (observed === undefined) return undefined;
  const { available, capacity, atMs } = observed;
  return {
    ...{ signal, threshold: amountText(value), graceSeconds: graceMs / 1000, available, capacity },
    amount: Number(amountOf(value, observed).nano) / 1e9,
    readAt: new Date(atMs).toISOString(),
    reclaimed: [...reclaimed],
    ranking,
  };
}
