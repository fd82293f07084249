import type { ActiveFault, FaultRule } from '@kubus/contracts';

/** A rule that holds from 0 on for a long time. */
export function active(rule: Partial<FaultRule> & Pick<FaultRule, 'what'>): ActiveFault {
  return { rule: { id: 'rule', match: { subject: '>' }, ...rule }, since: 0, until: 1e9 };
}

/** Numbers in [0, 1) that are the same in each run of a test. */
export function countingRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // xorshift32 (Marsaglia 2003), which needs a state other than 0.
    state = (state === 0 ? 1 : state) >>> 0;
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
