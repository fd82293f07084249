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

/** Devices on each of the nodes, all of them free but those with these ids. */
function request(count: number, on: readonly number[][], taken: readonly string[] = []): AlignedRequest {
  const all = on.map((numaNodes, index): KnownDevice => ({ id: `${index}`, healthy: true, numaNodes }));
  return { count, all, available: new Set(all.map(({ id }) => id).filter((id) => !taken.includes(id))), reusable: [] };
}

const both = [0, 1];

describe('a container’s devices come from', () => {
  test.each<[string, AlignedRequest[], Alignment['affinity'], boolean, boolean]>([
    // What, its requests, the nodes by the policies that take it, taken by restricted, taken by single-numa-node.
    ['one node where one is enough', [request(1, [[0], [1]])], [0], true, true],
    ['the other one where that is the only one', [request(1, [[0], [1]], ['0'])], [1], true, true],
    ['both where no node has enough', [request(2, [[0], [1]])], both, true, false],
    ['both though one would do, were it free', [request(2, [[0], [0], [1]], ['0'])], both, false, false],
    ['the node that two resources share', [request(1, [[0], [1]], ['0']), request(1, [[0], [1]])], [1], true, true],
    ['anywhere where nobody says', [request(1, [[], []])], both, true, true],
    ['anywhere where it can not be had', [request(2, [[0], [1]], ['0'])], both, false, false],
    ['anywhere where two resources share no node', [request(1, [[0]]), request(1, [[1]])], both, false, false],
  ])('%s', (_, requests, affinity, restricted, single) => {
    expect(alignment({ policy: 'best-effort', nodes: both }, requests)).toEqual({ admitted: true, affinity });
    expect(alignment({ policy: 'restricted', nodes: both }, requests).admitted).toBe(restricted);
    expect(alignment({ policy: 'single-numa-node', nodes: both }, requests).admitted).toBe(single);
    expect(alignment({ policy: 'none', nodes: both }, requests)).toEqual({ admitted: true, affinity: undefined });
  });
});

test('resources that come from different sets of nodes are not close to each other, though each could not come from fewer', () => {
  const requests = [request(1, [[0], [1]]), request(2, [[0], [1]])];
  expect(alignment({ policy: 'restricted', nodes: both }, requests)).toEqual({ admitted: false, affinity: both });
});

test('of sets with the same number of nodes the closest is taken where that is wanted', () => {
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

test('a machine may have many nodes, as long as few of them have devices', () => {
  const nodes = Array.from({ length: 64 }, (_, node) => node);
  const found = alignment({ policy: 'single-numa-node', nodes }, [request(1, [[3], [63]], ['0'])]);
  expect(found).toEqual({ admitted: true, affinity: [63] });
});

interface Answered {
  readonly nodes: number[];
  readonly distances?: number[][];
  readonly requests: { count: number; devices: number[][]; taken: string[]; reusable: string[] }[];
  /** By policy; no nodes: from anywhere. */
  readonly answers: Readonly<Record<string, { admitted: boolean; affinity: number[] | null }>>;
}

test.each(topologyPolicies.filter((policy) => policy !== 'none'))('%s gives what the reference gives', (policy) => {
  const all = JSON.parse(readFileSync(new URL('data/alignments.json', import.meta.url), 'utf8')) as Answered[];
  expect(all.length).toBeGreaterThan(100);
  const wrong = all.filter(({ nodes, distances, requests, answers }) => {
    const asked = requests.map(({ count, devices, taken, reusable }) => ({
      ...request(count, devices, taken),
      reusable,
    }));
    const { admitted, affinity } = alignment({ policy, nodes, distances }, asked);
    const expected = answers[policy];
    // Whoever is refused gets nothing from anywhere.
    const isSame = !admitted || JSON.stringify(affinity ?? null) === JSON.stringify(expected?.affinity ?? null);
    return admitted !== expected?.admitted || !isSame;
  });
  expect(wrong).toEqual([]);
});

test('a device of an init container that is used again decides', () => {
  const reused = { ...request(1, [[0], [1]], ['1']), reusable: ['1'] };
  expect(alignment({ policy: 'single-numa-node', nodes: both }, [reused])).toEqual({ admitted: true, affinity: [1] });
});

test('what a stricter policy takes, a less strict one takes too, and single-numa-node takes one node', () => {
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

test('whoever is taken because all devices are close to each other gets such ones, also of those that an init container has had', () => {
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
        // Where nobody says where a resource is, its lack is not this policy's business.
        if ('problem' in choice) continue;
        const given = chosenDevices(choice, []).map((id) => all[Number(id)]?.numaNodes ?? []);
        const apart = given.filter((near) => near.length > 0 && !near.some((node) => affinity?.includes(node)));
        expect(apart).toEqual([]);
      }
    }),
  );
});
