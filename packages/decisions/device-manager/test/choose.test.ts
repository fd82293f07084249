import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type DeviceQuestion,
  type KnownDevice,
  chosenDevices,
  deviceChoice,
  keptDevicesProblem,
} from '../src/index.ts';

const device = (id: string, ...numaNodes: number[]): KnownDevice => ({ id, healthy: true, numaNodes });
const sick = (id: string): KnownDevice => ({ ...device(id), healthy: false });

function ask(count: number, devices: readonly KnownDevice[] | undefined, more: Partial<DeviceQuestion> = {}) {
  return deviceChoice({ resource: 'example.com/d', count, devices, inUse: new Set(), reusable: [], ...more });
}

/** Ids that are allocated when the plugin prefers these. */
function given(choice: ReturnType<typeof ask>, preferred: readonly string[] = []): readonly string[] {
  if ('problem' in choice) throw new Error(choice.problem);
  return chosenDevices(choice, preferred);
}

describe('a request for devices is refused', () => {
  test.each<[string, number, KnownDevice[] | undefined, Partial<DeviceQuestion>]>([
    ['cannot allocate unregistered device example.com/d', 1, undefined, {}],
    ['no healthy devices present; cannot allocate unhealthy devices example.com/d', 1, [sick('a')], {}],
    ['no healthy devices present; cannot allocate unhealthy devices example.com/d', 1, [], {}],
    [
      'requested number of devices unavailable for example.com/d. Requested: 2, Available: 1',
      2,
      [device('a'), device('b'), sick('c')],
      { inUse: new Set(['b']) },
    ],
    [
      'requested number of devices unavailable for example.com/d. Requested: 1, Available: 0',
      2,
      [device('a'), device('b')],
      { inUse: new Set(['a', 'b']), reusable: ['a'] },
    ],
  ])('with the reference’s message: %s', (problem, count, devices, more) => {
    expect(ask(count, devices, more)).toEqual({ problem });
  });
});

test('devices of before a restart have to be healthy again', () => {
  const problem = (devices: readonly KnownDevice[] | undefined) =>
    keptDevicesProblem({ resource: 'r', devices }, ['a']);
  expect(problem([device('a'), sick('b')])).toBeUndefined();
  expect(problem(undefined)).toBe('cannot allocate unregistered device r');
  expect(problem([sick('a')])).toBe('no healthy devices present; cannot allocate unhealthy devices r');
  expect(problem([sick('a'), device('b')])).toBe(
    'previously allocated devices are no longer healthy; cannot allocate unhealthy devices r',
  );
});

const four = [device('a', 0), device('b', 1), device('c', 1), device('d')];

test.each<[string, readonly string[], number, Partial<DeviceQuestion>, readonly string[]]>([
  ['any available devices', ['a', 'b'], 2, {}, []],
  ['the devices that the plugin prefers', ['d', 'a'], 2, {}, ['d']],
  ['no preferred devices that are not available', ['a', 'b'], 2, { inUse: new Set(['c']) }, ['c', 'x']],
  ['devices of init containers first', ['c', 'a'], 2, { reusable: ['c'], inUse: new Set(['c']) }, []],
  [
    'only as many devices of init containers as requested',
    ['c'],
    1,
    { reusable: ['c', 'd'], inUse: new Set(['c', 'd']) },
    [],
  ],
  [
    'devices of init containers close to its NUMA nodes',
    ['b'],
    1,
    { reusable: ['a', 'b'], inUse: new Set(['a', 'b']), affinity: [1] },
    [],
  ],
  ['devices close to its NUMA nodes', ['b'], 1, { affinity: [1] }, ['a']],
  ['the preferred devices of those', ['c'], 1, { affinity: [1] }, ['c']],
  ['devices close to its NUMA nodes and then the preferred ones', ['b', 'c', 'd'], 3, { affinity: [1] }, ['d']],
  ['devices close to other NUMA nodes before those without affinity', ['b', 'c', 'a'], 3, { affinity: [1] }, []],
])('a container gets %s', (_, ids, count, more, preferred) => {
  expect([...given(ask(count, four, more), preferred)].sort()).toEqual([...ids].sort());
});

test('the plugin is asked only where there is a choice, and with the devices that it must include', () => {
  expect(ask(1, four, { affinity: [1] })).toMatchObject({
    question: { available: ['b', 'c'], mustInclude: [], size: 1 },
  });
  expect(ask(3, four, { affinity: [1] })).toMatchObject({
    question: { available: ['b', 'c', 'a', 'd'], mustInclude: ['b', 'c'], size: 3 },
  });
  expect(ask(2, four, { affinity: [1] })).toMatchObject({ fixed: ['b', 'c'], question: undefined });
});

test('for any request, a container gets the requested number of healthy devices, no device twice, and none of another container', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const devices = fc.uniqueArray(
    fc.record({
      id: fc.constantFrom(...ids),
      healthy: fc.boolean(),
      numaNodes: fc.uniqueArray(fc.constantFrom(0, 1), { maxLength: 2 }),
    }),
    { selector: ({ id }) => id },
  );
  const some = fc.uniqueArray(fc.constantFrom(...ids));
  const affinity = fc.option(fc.uniqueArray(fc.constantFrom(0, 1)), { nil: undefined });
  fc.assert(
    fc.property(devices, some, some, fc.integer({ min: 1, max: 6 }), affinity, some, (known, used, kept, ...rest) => {
      const [count, near, preferred] = rest;
      const reusable = kept.filter((id) => used.includes(id));
      const choice = ask(count, known, { inUse: new Set(used), reusable, affinity: near });
      const free = known.filter(({ id, healthy }) => healthy && (!used.includes(id) || reusable.includes(id)));
      expect('problem' in choice).toBe(free.length < count);
      if ('problem' in choice) return;
      const got = given(choice, preferred);
      expect(new Set(got).size).toBe(count);
      expect(got.every((id) => free.some((one) => one.id === id))).toBe(true);
      // The same question has the same answer: a request that is repeated after a crash gets the same devices.
      expect(given(ask(count, known, { inUse: new Set(used), reusable, affinity: near }), preferred)).toEqual(got);
    }),
  );
});
