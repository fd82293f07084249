import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type AlignedRequest, type Alignment, type KnownDevice, alignment, topologyPolicies } from '../src/index.ts';

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
    ['nowhere', [request(2, [[0], [1]], ['0'])], undefined, false, false],
    ['one of the nodes where two resources share none', [request(1, [[0]]), request(1, [[1]])], [0], false, false],
  ])('%s', (_, requests, affinity, restricted, single) => {
    expect(alignment('best-effort', both, requests)).toEqual({ admitted: true, affinity });
    expect(alignment('restricted', both, requests).admitted).toBe(restricted);
    expect(alignment('single-numa-node', both, requests).admitted).toBe(single);
    expect(alignment('none', both, requests)).toEqual({ admitted: true, affinity: undefined });
  });
});

test('a device of an init container that is used again decides', () => {
  const reused = { ...request(1, [[0], [1]], ['1']), reusable: ['1'] };
  expect(alignment('single-numa-node', both, [reused])).toEqual({ admitted: true, affinity: [1] });
});

test('what a stricter policy takes, a less strict one takes too, and single-numa-node takes one node', () => {
  const on = fc.array(fc.uniqueArray(fc.constantFrom(0, 1, 2, 3), { maxLength: 2 }), { minLength: 1, maxLength: 5 });
  const taken = fc.uniqueArray(fc.constantFrom('0', '1', '2', '3'));
  const one = fc.tuple(fc.integer({ min: 1, max: 4 }), on, taken).map((parts) => request(...parts));
  fc.assert(
    fc.property(fc.array(one, { maxLength: 3 }), (requests) => {
      const answers = topologyPolicies.map((policy) => alignment(policy, [0, 1, 2, 3], requests));
      const admitted = answers.map((answer) => answer.admitted);
      expect(admitted).toEqual(admitted.toSorted().reverse());
      const [, , , single] = answers;
      if (single?.admitted === true && single.affinity !== undefined) expect(single.affinity).toHaveLength(1);
    }),
  );
});
