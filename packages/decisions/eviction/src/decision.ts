import type { EvictionDecision, EvictionRanking } from '@kubus/contracts';
import type { Reclaimable } from './reclaim.ts';
import type { Observations } from './signals.ts';
import { type Threshold, amountOf, amountText } from './thresholds.ts';

/** What the message that asks for an eviction says of its reasons; undefined without a reading of the signal. */
export function decisionOf(
  { signal, value, graceMs }: Threshold,
  observations: Observations,
  { reclaimed, ranking }: { readonly reclaimed: readonly Reclaimable[]; readonly ranking: EvictionRanking },
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
