import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  admitted,
  cpuFragmentation,
  emptyLedger,
  exclusiveSetup,
  fragmentation,
  memoryFragmentation,
  trialSettings,
} from '../src/index.ts';
import { machine, machineNames } from './sequences.ts';

const share = fc
  .integer({ min: 0, max: 64 })
  .chain((allocatable) =>
    fc.record({ free: fc.integer({ min: 0, max: allocatable }), allocatable: fc.constant(allocatable) }),
  );
const shares = fc.array(share, { minLength: 1, maxLength: 8 });

describe('fragmentation', () => {
  test.each([
    [[8, 8], [8, 8], 0, 'an empty machine holds as much as a node has'],
    [[0, 0], [8, 8], 0, 'nothing is free'],
    [[8, 0], [8, 8], 0, 'a free node and a full one'],
    [[4, 4], [8, 8], 0.5, 'the free half is on both'],
    [[2, 2, 2, 2], [8, 8, 8, 8], 0.75, 'a little on each of four'],
    [[6, 6], [8, 8], 0.25, 'no request can be larger than a node'],
    [[3, 1], [8, 4], 0.25, 'nodes of different sizes'],
    [[5], [8], 0, 'one node'],
  ])('of %j free of %j is %d: %s', (free, allocatable, expected) => {
    const nodes = free.map((one, at) => ({ free: one, allocatable: allocatable[at] ?? 0 }));
    expect(fragmentation(nodes)).toBe(expected);
  });

  test('is between 0 and 1, the same in any order and in any unit, and 0 on one node', () => {
    fc.assert(
      fc.property(shares, fc.integer({ min: 1, max: 1000 }), (nodes, unit) => {
        const figure = fragmentation(nodes);
        expect(figure).toBeGreaterThanOrEqual(0);
        expect(figure).toBeLessThanOrEqual(1 - 1 / nodes.length);
        expect(fragmentation(nodes.toReversed())).toBe(figure);
        const scaled = nodes.map(({ free, allocatable }) => ({ free: free * unit, allocatable: allocatable * unit }));
        expect(fragmentation(scaled)).toBeCloseTo(figure, 9);
        expect(fragmentation(nodes.slice(0, 1))).toBe(0);
      }),
    );
  });

  test('grows when something is freed elsewhere than on the node that has most', () => {
    fc.assert(
      fc.property(shares, (nodes) => {
        const most = Math.max(...nodes.map(({ free }) => free));
        const other = nodes.findIndex(({ free, allocatable }) => free < most && free < allocatable);
        const freed = nodes.map((node, at) => (at === other ? { ...node, free: node.free + 1 } : node));
        expect(fragmentation(freed)).toBeGreaterThanOrEqual(fragmentation(nodes));
      }),
    );
  });
});

test.each(machineNames)('nothing is scattered on an empty machine beyond what is reserved: %s', (name) => {
  const on = machine(name);
  const settings = { memory: true, numaPolicy: 'none', numaScope: 'container', cpuOptions: [], reserved: [] };
  const setup = exclusiveSetup(on, trialSettings(on, settings));
  if ('problem' in setup) throw new Error(setup.problem);
  const ledger = emptyLedger(setup);
  expect([cpuFragmentation(setup, ledger), memoryFragmentation(ledger)]).toEqual([0, 0]);
});

test('containers whose CPUs are distributed leave a part of each node', () => {
  const on = machine('two-sockets-smt');
  const figure = (...cpuOptions: string[]) => {
    const settings = { memory: false, numaPolicy: 'none', numaScope: 'container', cpuOptions, reserved: [0] };
    const setup = exclusiveSetup(on, trialSettings(on, settings));
    if ('problem' in setup) throw new Error(setup.problem);
    // More than one node has.
    const cpus = on.cpus.length / 2 + 2;
    const pod = { uid: 'p', containers: [{ name: 'c', kind: 'app' as const, cpus, memory: undefined }] };
    const { ledger, refusal } = admitted(setup, emptyLedger(setup), pod);
    expect(refusal).toBeUndefined();
    return cpuFragmentation(setup, ledger);
  };
  expect(figure()).toBeLessThan(0.1);
  expect(figure('distribute-cpus-across-numa')).toBeGreaterThan(0.4);
});
