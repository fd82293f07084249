import type { Random } from '@kubus/ports';
import type { Weather } from './memory-broker.ts';

/**
 * How messages are lost, doubled and late during a schedule.
 *
 * @param rough many of them are late
 */
export function drawStorm(random: Random, rough: boolean): Weather {
  const loss = random.pick([0, 0.02, 0.15]);
  const doubled = random.pick([0, 0.05, 0.2]);
  const slow = random.pick([1, 5, 50]);
  const stragglers = rough ? 0.3 : random.pick([0, 0.1]);
  return {
    message: () => {
      if (random.chance(loss)) return [];
      const first = random.chance(stragglers) ? random.between(0, 5_000) : random.between(0.2, slow);
      return random.chance(doubled) ? [first, first + random.between(0, 3_000)] : [first];
    },
    fact: () => random.between(0.2, slow),
  };
}
