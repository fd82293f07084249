import { expect, test } from '@jest/globals';
import { parseQuantity } from '@kubus/contracts';
import fc from 'fast-check';
import { allocatableOf, withoutReserved } from '../src/index.ts';

const capacity = { cpu: '4', memory: '8Gi', 'hugepages-2Mi': '1Gi', pods: '110', 'ephemeral-storage': '1Gi' };

test('allocatable resources are the capacity without what is reserved', () => {
  const system = { cpu: '500m', memory: '1Gi' };
  const kube = { memory: '512Mi', 'ephemeral-storage': '2Gi' };
  expect(allocatableOf(capacity, { system, kube, evictionHard: { 'memory.available': '512Mi' } })).toEqual({
    ...{ cpu: '3500m', memory: '5Gi', 'hugepages-2Mi': '1Gi', pods: '110', 'ephemeral-storage': '0' },
  });
  expect(withoutReserved(capacity, [system, kube])['memory']).toBe('6656Mi');
});

test.each([
  ['10%', '966367640'],
  ['12.5%', '896Mi'],
  ['0%', '1Gi'],
  ['24Mi', '1000Mi'],
])('the eviction threshold %s reduces the allocatable storage', (threshold, left) => {
  const evictionHard = { 'nodefs.available': threshold, 'imagefs.available': '90%', 'nodefs.inodesFree': '90%' };
  expect(allocatableOf(capacity, { system: {}, kube: {}, evictionHard })['ephemeral-storage']).toBe(left);
});

test('allocatable resources are never negative and never exceed the capacity', () => {
  const amount = fc.nat({ max: 2 ** 40 }).map((bytes) => String(bytes));
  const reserve = fc.dictionary(fc.constantFrom('cpu', 'memory', 'other'), amount);
  const check = (has: Record<string, string>, system: Record<string, string>, percent: number) => {
    const left = allocatableOf(has, { system, kube: {}, evictionHard: { 'memory.available': `${percent}%` } });
    expect(Object.keys(left)).toEqual(Object.keys(has));
    for (const [name, text] of Object.entries(left)) {
      const nano = parseQuantity(text)?.nano ?? -1n;
      expect(nano >= 0n && nano <= (parseQuantity(has[name] ?? '')?.nano ?? -1n)).toBe(true);
    }
  };
  fc.assert(fc.property(reserve, reserve, fc.nat(100), check));
});
