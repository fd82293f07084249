import type { ActiveFault, FaultRule } from '@kubus/contracts';
import { Random } from '@kubus/ports';

/** A rule that is active from 0 on for a long time. */
export function active(rule: Partial<FaultRule> & Pick<FaultRule, 'what'>): ActiveFault {
  return { rule: { id: 'rule', match: { subject: '>' }, ...rule }, since: 0, until: 1e9 };
}

/** Numbers in [0, 1) that are the same in each run of a test. */
export function seededFractions(seed: number): () => number {
  const random = new Random(seed);
  return () => random.fraction();
}
