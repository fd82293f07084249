import type { Random } from '@kubus/ports';
import { type Placement, type SimulatedService, simulatedServices } from './simulated-process.ts';

/** Each service in a process of its own, all in one, or groups of them. */
export function drawPlacement(random: Random): Placement {
  const kind = random.pick(['separate', 'hosted', 'groups'] as const);
  if (kind === 'separate') return [];
  if (kind === 'hosted') return [simulatedServices];
  const groups: SimulatedService[][] = [];
  let left = random.shuffled(simulatedServices);
  while (left.length > 1) {
    const size = 1 + random.below(left.length);
    const group = left.slice(0, size);
    left = left.slice(size);
    if (group.length > 1) groups.push(group);
  }
  return groups;
}

/** `a+b c+d`, or `separate`. */
export function describePlacement(placement: Placement): string {
  return placement.length === 0 ? 'separate' : placement.map((group) => group.join('+')).join(' ');
}
