// Memory that pods share: what is protected together, and what the tiers leave to higher classes (behaviour:qos-and-cgroups).
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { protectedMemory, reservedTierMemory } from '../src/index.ts';

const requests = { guaranteed: 300n, burstable: 200n };

test('the cgroups above the pods protect as much as those below them', () => {
  expect(protectedMemory(requests, 'TieredReservation')).toEqual({ pods: 500n, burstable: 200n });
  expect(protectedMemory(requests, 'None')).toEqual({ pods: 0n, burstable: 0n });
});

test.each([
  [
    { percent: 100n, allocatable: 1000n },
    { burstable: 700n, besteffort: 500n },
  ],
  [
    { percent: 50n, allocatable: 1000n },
    { burstable: 850n, besteffort: 750n },
  ],
  [
    { percent: 33n, allocatable: 1000n },
    { burstable: 901n, besteffort: 835n },
  ],
  [
    { percent: 0n, allocatable: 1000n },
    { burstable: 1000n, besteffort: 1000n },
  ],
  [
    { percent: 100n, allocatable: 500n },
    { burstable: 200n, besteffort: undefined },
  ],
  [
    { percent: 100n, allocatable: 0n },
    { burstable: undefined, besteffort: undefined },
  ],
])('reserved memory (%j) is not for the tiers of lower classes', (reserve, expected) => {
  expect(reservedTierMemory(requests, reserve)).toEqual(expected);
});

test('a lower class never has more than a higher one, and none more than all pods', () => {
  const bytes = fc.bigInt({ min: 0n, max: 1n << 40n });
  fc.assert(
    fc.property(
      bytes,
      bytes,
      bytes,
      fc.bigInt({ min: 0n, max: 100n }),
      (guaranteed, burstable, allocatable, percent) => {
        const tiers = reservedTierMemory({ guaranteed, burstable }, { percent, allocatable });
        expect(tiers.besteffort ?? 0n).toBeLessThanOrEqual(tiers.burstable ?? 0n);
        expect(tiers.burstable ?? 0n).toBeLessThanOrEqual(allocatable);
      },
    ),
  );
});
