import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import fc from 'fast-check';
import { type Candidate, type Disks, inOrder, rank, rankingOf, reclaimableFor } from '../src/index.ts';
import type { Signal } from '../src/signals.ts';
import { candidate, signals } from './candidates.ts';

const order = (signal: Signal, candidates: readonly Candidate[], disks: Disks = 'one') =>
  rank(signal, disks, candidates).map(({ pod }) => pod.metadata.name);

describe('for lack of memory', () => {
  test('those above their requests go first, then by priority, then by what they use above the request', () => {
    const candidates = [
      candidate('within', { request: { memory: '2Gi' }, priority: -5, memory: 2 ** 30 }),
      candidate('important', { request: { memory: '1Mi' }, priority: 10, memory: 9 * 2 ** 30 }),
      candidate('little', { priority: 1, memory: 100 }),
      candidate('much', { request: { memory: '100' }, priority: 1, memory: 1000 }),
      candidate('within by less', { request: { memory: '2Gi' }, priority: -5, memory: 2 ** 30 + 1 }),
    ];
    expect(order('memory.available', candidates)).toEqual(['much', 'little', 'important', 'within by less', 'within']);
    expect(order('allocatableMemory.available', candidates)).toEqual(order('memory.available', candidates));
  });

  test('best effort goes before burstable before guaranteed, when all use what they request', () => {
    const candidates = [
      candidate('guaranteed', { request: { memory: '100Mi' }, memory: 100 * 2 ** 20 }),
      candidate('burstable', { request: { memory: '50Mi' }, memory: 100 * 2 ** 20 }),
      candidate('besteffort', { memory: 100 * 2 ** 20 }),
    ];
    expect(order('memory.available', candidates)).toEqual(['besteffort', 'burstable', 'guaranteed']);
  });

  test('a pod of which nothing is known goes first', () => {
    const unknown: Candidate = { ...candidate('unknown', { priority: 1000 }), use: undefined };
    expect(order('memory.available', [candidate('known', { memory: 5 }), unknown])).toEqual(['unknown', 'known']);
  });
});

describe('a ranking in a message', () => {
  const some = fc.record({
    priority: fc.integer({ min: -3, max: 3 }),
    memory: fc.nat({ max: 5 }),
    processes: fc.nat({ max: 5 }),
    layer: fc.nat({ max: 5 }),
    known: fc.boolean(),
  });

  test('has the numbers from which the same order follows again', () => {
    fc.assert(
      fc.property(fc.array(some), fc.constantFrom(...signals), (all, signal) => {
        const candidates = all.map(({ known, ...uses }, index) => {
          const one = candidate(`p${index}`, uses);
          return known ? one : { ...one, use: undefined };
        });
        const { pods } = rankingOf(signal, rank(signal, 'one', candidates));
        expect(inOrder(signal, pods)).toEqual(pods);
        // Pods of the same rank keep their order.
        const given = pods.toSorted((a, b) => Number(a.ref.name.slice(1)) - Number(b.ref.name.slice(1)));
        expect(inOrder(signal, given)).toEqual(pods);
      }),
    );
  });

  test('names a hundred pods, and how many more there were', () => {
    const many = Array.from({ length: 130 }, (_, index) => candidate(`p${index}`, { memory: index }));
    const ranking = rankingOf('memory.available', rank('memory.available', 'one', many));
    expect([ranking.pods.length, ranking.leftOut, ranking.pods[0]]).toEqual([
      100,
      30,
      {
        ref: { namespace: 'default', name: 'p129', uid: 'p129' },
        ...{ critical: false, exceeds: true, priority: 0, used: 129, requested: 0 },
      },
    ]);
  });
});

describe('for lack of process IDs', () => {
  test('by priority, then by the number of processes; requests do not count', () => {
    const candidates = [
      candidate('few', { processes: 1 }),
      candidate('important', { processes: 999, priority: 1 }),
      candidate('many', { processes: 500 }),
    ];
    expect(order('pid.available', candidates)).toEqual(['many', 'few', 'important']);
  });
});

describe('for lack of space on a disk', () => {
  const layer = candidate('layer', { layer: 300 });
  const log = candidate('log', { logs: 200 });
  const volume = candidate('volume', { volumes: { cache: 100 } });
  // Volumes in memory are no files of the node.
  const inMemory = candidate('tmpfs', { volumes: { tmpfs: 1000 } });
  const all = [inMemory, volume, log, layer];

  test.each<[Disks, Signal, string[]]>([
    ['one', 'nodefs.available', ['layer', 'log', 'volume', 'tmpfs']],
    ['one', 'imagefs.available', ['layer', 'log', 'volume', 'tmpfs']],
    ['one', 'containerfs.available', ['layer', 'log', 'volume', 'tmpfs']],
    ['images', 'nodefs.available', ['log', 'volume', 'tmpfs', 'layer']],
    ['images', 'imagefs.available', ['layer', 'tmpfs', 'volume', 'log']],
    ['images', 'containerfs.available', ['layer', 'tmpfs', 'volume', 'log']],
    ['split', 'nodefs.available', ['layer', 'log', 'volume', 'tmpfs']],
    ['split', 'containerfs.available', ['layer', 'log', 'volume', 'tmpfs']],
    ['split', 'imagefs.available', ['tmpfs', 'volume', 'log', 'layer']],
  ])('disks %s, %s', (disks, signal, expected) => {
    expect(order(signal, all, disks)).toEqual(expected);
  });

  test('inodes are counted for lack of inodes, of which none can be requested', () => {
    const bytes = candidate('bytes', { layer: 10_000, inodes: 1 });
    const files = candidate('files', { layer: 1, inodes: 500, request: { 'ephemeral-storage': '1' } });
    expect(order('nodefs.inodesFree', [bytes, files])).toEqual(['files', 'bytes']);
    expect(order('nodefs.available', [files, bytes])).toEqual(['bytes', 'files']);
  });
});

test('what is removed before a pod has to go depends on the disks', () => {
  const both = ['containers', 'images'];
  const found = (signal: Signal) => (['one', 'images', 'split'] as const).map((disks) => reclaimableFor(signal, disks));
  expect(found('nodefs.available')).toEqual([both, [], ['containers']]);
  expect(found('imagefs.inodesFree')).toEqual([both, both, ['images']]);
  expect(found('containerfs.available')).toEqual([both, both, ['containers']]);
  expect([...found('memory.available'), ...found('pid.available')].flat()).toEqual([]);
});

describe('whatever pods use', () => {
  const some = fc.record({
    priority: fc.integer({ min: -3, max: 3 }),
    memory: fc.integer({ min: 0, max: 1000 }),
    processes: fc.nat(50),
    layer: fc.nat(1000),
    logs: fc.nat(1000),
    inodes: fc.nat(10),
    isKnown: fc.boolean(),
    request: fc.record({ memory: fc.nat(1000).map(String), 'ephemeral-storage': fc.nat(2000).map(String) }),
  });
  const many = fc.array(some, { maxLength: 12 }).map((all) =>
    all.map(({ isKnown, ...uses }, index): Candidate => {
      const made = candidate(`pod-${index}`, uses);
      return isKnown ? made : { ...made, use: undefined };
    }),
  );
  const signal = fc.constantFrom(...signals);
  const disks = fc.constantFrom<Disks>('one', 'images', 'split');

  test('no pod within its requests goes before one above them', () => {
    fc.assert(
      fc.property(many, signal, disks, (candidates, one, where) => {
        const known = rank(one, where, candidates).filter(({ used }) => used !== undefined);
        const firstWithin = known.findIndex(({ exceeds }) => !exceeds);
        const lastAbove = known.findLastIndex(({ exceeds }) => exceeds);
        if (one !== 'pid.available' && firstWithin !== -1) expect(lastAbove).toBeLessThan(firstWithin);
      }),
    );
  });

  test('every pod is ranked once, and the order does not depend on that of the input but for equals', () => {
    fc.assert(
      fc.property(many, signal, disks, (candidates, one, where) => {
        const names = (all: readonly { readonly pod: Pod }[]) => all.map(({ pod }) => pod.metadata.name);
        const ranked = rank(one, where, candidates);
        expect(names(ranked).sort()).toEqual(names(candidates).sort());
        const numbers = (all: typeof ranked) => all.map(({ pod: _, ...rest }) => rest);
        const excess = ({ used = 0, requested, ...rest }: (typeof ranked)[number]) => ({
          ...rest,
          above: used - requested,
        });
        const reversed = rank(one, where, [...candidates].reverse());
        const shown = (all: typeof ranked) =>
          all.map((ranks) => ({ ...excess(ranks), pod: '', known: ranks.used !== undefined }));
        if (candidates.every(({ use }) => use !== undefined)) expect(shown(reversed)).toEqual(shown(ranked));
        expect(numbers(ranked)).toHaveLength(candidates.length);
      }),
    );
  });
});
