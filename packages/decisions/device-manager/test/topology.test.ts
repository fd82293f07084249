import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import {
  type AlignedRequest,
  type Alignment,
  type KnownDevice,
  alignment,
  chosenDevices,
  deviceChoice,
  topologyPolicies,
} from '../src/index.ts';

/** Devices on each of the nodes, all of them free except those with these ids. */
function request(count: number, on: readonly number[][], taken: readonly string[] = []): AlignedRequest {
  const all = on.map((numaNodes, index): KnownDevice => ({ id: `${index}`, healthy: true, numaNodes }));
  return { count, all, available: new Set(all.map(({ id }) => id).filter((id) => !taken.includes(id))), reusable: [] };
}

const both = [0, 1];

describe('the devices of a container come from', () => {
  test.each<[string, AlignedRequest[], Alignment['affinity'], boolean, boolean]>([
    // Case, requests, nodes by the policies that admit it, admitted by restricted, admitted by single-numa-node.
    ['one node where one is enough', [request(1, [[0], [1]])], [0], true, true],
    ['the other node where only that one has free devices', [request(1, [[0], [1]], ['0'])], [1], true, true],
    ['both nodes where neither has enough devices', [request(2, [[0], [1]])], both, true, false],
    [
      'both nodes where one would suffice if its devices were free',
      [request(2, [[0], [0], [1]], ['0'])],
      both,
      false,
      false,
    ],
    ['the node that two resources share', [request(1, [[0], [1]], ['0']), request(1, [[0], [1]])], [1], true, true],
    ['any node where no device has an affinity', [request(1, [[], []])], both, true, true],
    ['any node where the request cannot be met', [request(2, [[0], [1]], ['0'])], both, false, false],
    ['any node where two resources share no node', [request(1, [[0]]), request(1, [[1]])], both, false, false],
  ])('%s', (_, requests, affinity, restricted, single) => {
    expect(alignment({ policy: 'best-effort', nodes: both }, requests)).toEqual({ admitted: true, affinity });
    expect(alignment({ policy: 'restricted', nodes: both }, requests).admitted).toBe(restricted);
    expect(alignment({ policy: 'single-numa-node', nodes: both }, requests).admitted).toBe(single);
    expect(alignment({ policy: 'none', nodes: both }, requests)).toEqual({ admitted: true, affinity: undefined });
  });
});

test('resources from different sets of nodes are not close to each other, even if neither could come from fewer nodes', () => {
  const requests = [request(1, [[0], [1]]), request(2, [[0], [1]])];
  expect(alignment({ policy: 'restricted', nodes: both }, requests)).toEqual({ admitted: false, affinity: both });
});

test('of several sets with the same number of nodes, the closest one is chosen if that is configured', () => {
  const distances = [
    [10, 21, 31],
    [21, 10, 11],
    [31, 11, 10],
  ];
  const topology = { policy: 'best-effort', nodes: [0, 1, 2] } as const;
  const requests = [request(2, [[0], [1], [2]])];
  expect(alignment(topology, requests).affinity).toEqual([0, 1]);
  expect(alignment({ ...topology, distances }, requests).affinity).toEqual([1, 2]);
});

test('a machine may have many nodes if few of them have devices', () => {
  const nodes = Array.from({ length: 64 }, (_, node) => node);
  const found = alignment({ policy: 'single-numa-node', nodes }, [request(1, [[3], [63]], ['0'])]);
  expect(found).toEqual({ admitted: true, affinity: [63] });
});

interface Answered {
  readonly nodes: number[];
  readonly distances?: number[][];
  readonly requests: { count: number; devices: number[][]; taken: string[]; reusable: string[] }[];
  /** By policy; no nodes: from any node. */
  readonly answers: Readonly<Record<string, { admitted: boolean; affinity: number[] | null }>>;
}

test.each(topologyPolicies.filter((policy) => policy !== 'none'))(
  'policy %s has the same results as the reference',
  (policy) => {
    const all = JSON.parse(readFileSync(new URL('data/alignments.json', import.meta.url), 'utf8')) as Answered[];
    expect(all.length).toBeGreaterThan(100);
    const wrong = all.filter(({ nodes, distances, requests, answers }) => {
      const asked = requests.map(({ count, devices, taken, reusable }) => ({
        ...request(count, devices, taken),
        reusable,
      }));
      const { admitted, affinity } = alignment({ policy, nodes, distances }, asked);
      const expected = answers[policy];
      // A container that is refused gets no devices.
      const isSame = !admitted || JSON.stringify(affinity ?? null) === JSON.stringify(expected?.affinity ?? null);
      return admitted !== expected?.admitted || !isSame;
    });
    expect(wrong).toEqual([]);
  },
);

test('a reused device of an init container determines the node', () => {
  const reused = { ...request(1, [[0], [1]], ['1']), reusable: ['1'] };
  expect(alignment({ policy: 'single-numa-node', nodes: both }, [reused])).toEqual({ admitted: true, affinity: [1] });
});

test('what a stricter policy admits, a less strict one admits too, and single-numa-node chooses one node', () => {
  const on = fc.array(fc.uniqueArray(fc.constantFrom(0, 1, 2, 3), { maxLength: 2 }), { minLength: 1, maxLength: 5 });
  const taken = fc.uniqueArray(fc.constantFrom('0', '1', '2', '3'));
  const one = fc.tuple(fc.integer({ min: 1, max: 4 }), on, taken).map((parts) => request(...parts));
  fc.assert(
    fc.property(fc.array(one, { maxLength: 3 }), (requests) => {
      const answers = topologyPolicies.map((policy) => alignment({ policy, nodes: [0, 1, 2, 3] }, requests));
      const admitted = answers.map((answer) => answer.admitted);
      expect(admitted).toEqual(admitted.toSorted().reverse());
      const [, , , single] = answers;
      if (single?.admitted === true && single.affinity !== undefined) expect(single.affinity).toHaveLength(1);
    }),
  );
});

test('a container that is admitted because its devices are close to each other gets such devices, including reused ones of an init container', () => {
  const nodes = [0, 1, 2];
  const on = fc.array(fc.uniqueArray(fc.constantFrom(...nodes), { maxLength: 2 }), { minLength: 1, maxLength: 6 });
  const ids = fc.uniqueArray(fc.constantFrom('0', '1', '2', '3', '4', '5'));
  const one = fc.tuple(fc.integer({ min: 1, max: 4 }), on, ids, ids).map(([count, devices, taken, had]) => {
    const there = request(count, devices, taken);
    return { ...there, reusable: had.filter((id) => taken.includes(id) && Number(id) < devices.length) };
  });
  fc.assert(
    fc.property(fc.array(one, { minLength: 1, maxLength: 2 }), (requests) => {
      const { admitted, affinity } = alignment({ policy: 'restricted', nodes }, requests);
      if (!admitted) return;
      for (const { count, all, available, reusable } of requests) {
        const inUse = new Set(all.map(({ id }) => id).filter((id) => !available.has(id)));
        const choice = deviceChoice({ resource: 'r', count, devices: all, inUse, reusable, affinity });
        // Where no device of a resource has an affinity, this policy does not handle its shortage.
        if ('problem' in choice) continue;
        const given = chosenDevices(choice, []).map((id) => all[Number(id)]?.numaNodes ?? []);
        const apart = given.filter((near) => near.length > 0 && !near.some((node) => affinity?.includes(node)));
        expect(apart).toEqual([]);
      }
    }),
  );
});
