// Which ended containers stay, by the three limits of the kubelet's flags and by what the pod and the node need.
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type DeadContainerPolicy,
  type DeadContainers,
  defaultDeadContainers,
  surplusContainers,
} from '../src/dead-containers.ts';
import { leftovers } from '../src/leftovers.ts';
import { exited, run, runtime, sandbox } from './states.ts';

const NOW = 100_000;
/** A run that ended, created this many seconds before now. */
const dead = (name: string, attempt: number, age: number) =>
  exited(0, { name, attempt, createdAt: String(BigInt(NOW - age * 1000) * 1_000_000n) });
const policyOf = (changes: Partial<DeadContainerPolicy>) => ({ ...defaultDeadContainers, ...changes });
const viewOf = (changes: Partial<DeadContainers> = {}): DeadContainers => ({
  ...{ policy: defaultDeadContainers, now: NOW, surplus: new Set<string>(), keeps: 'newest' },
  ...changes,
});
const twoOfEach = [dead('a', 1, 10), dead('a', 0, 40), dead('b', 1, 20), dead('b', 0, 30)];

describe('of one pod', () => {
  test.each<[string, Partial<DeadContainers>, string[]]>([
    ['by default all but the newest go', {}, ['a-0', 'b-0']],
    ['a greater limit keeps more', { policy: policyOf({ perContainer: 2 }) }, []],
    ['a negative limit keeps all', { policy: policyOf({ perContainer: -1 }) }, []],
    [
      'without any, the newest still decides about the next run',
      { policy: policyOf({ perContainer: 0 }) },
      ['a-0', 'b-0'],
    ],
    [
      'in an ended pod it decides nothing',
      { policy: policyOf({ perContainer: 0 }), keeps: 'limited' },
      ['a-1', 'a-0', 'b-1', 'b-0'],
    ],
    ['young ones stay', { policy: policyOf({ minAgeMs: 35_000 }) }, []],
    ['young ones do not count', { policy: policyOf({ minAgeMs: 25_000 }), keeps: 'limited' }, []],
    ['those beyond the node’s limit go', { policy: policyOf({ perContainer: 2 }), surplus: new Set(['b-0']) }, ['b-0']],
    ['the newest does not, while the pod lives', { surplus: new Set(['b-1', 'b-0', 'a-0']) }, ['a-0', 'b-0']],
    ['it does afterwards', { surplus: new Set(['b-1', 'b-0', 'a-0']), keeps: 'limited' }, ['a-0', 'b-1', 'b-0']],
    ['where nothing is kept, all go', { keeps: 'nothing' }, ['a-1', 'a-0', 'b-1', 'b-0']],
    ['that are old enough', { keeps: 'nothing', policy: policyOf({ minAgeMs: 25_000 }) }, ['a-0', 'b-0']],
  ])('%s', (_, view, removed) => {
    expect(leftovers(runtime(twoOfEach), sandbox(), viewOf(view)).containers.map(({ id }) => id)).toEqual(removed);
  });

  test('a running container stays, with one ended run beside it', () => {
    const runs = [run({ attempt: 2, name: 'a' }), dead('a', 1, 20), dead('a', 0, 30)];
    expect(leftovers(runtime(runs), sandbox(), viewOf()).containers.map(({ id }) => id)).toEqual(['a-0']);
    const nothing = leftovers(runtime(runs), sandbox(), viewOf({ keeps: 'nothing' }));
    expect(nothing.containers.map(({ id }) => id)).toEqual(['a-1', 'a-0']);
  });

  test('the last sandbox goes only where nothing is kept, and with its last container', () => {
    const ended = sandbox({ ready: false });
    const of = (view: Partial<DeadContainers>) =>
      leftovers(runtime([dead('a', 0, 10)], [ended]), undefined, viewOf(view)).sandboxes;
    expect(of({ keeps: 'limited' })).toEqual([]);
    expect(of({ keeps: 'nothing' })).toEqual([ended]);
    expect(of({ keeps: 'nothing', policy: policyOf({ minAgeMs: 20_000 }) })).toEqual([]);
  });
});

describe('of all pods', () => {
  const surplus = (changes: Partial<DeadContainerPolicy>) =>
    [...surplusContainers([{ containers: twoOfEach }], policyOf({ perContainer: -1, ...changes }), NOW)].sort();

  test.each<[string, Partial<DeadContainerPolicy>, string[]]>([
    ['no limit', {}, []],
    ['few enough', { total: 4 }, []],
    ['an equal number of each, then the oldest', { total: 3 }, ['a-0', 'b-0']],
    ['one of each', { total: 2 }, ['a-0', 'b-0']],
    ['fewer than containers: the newest of all', { total: 1 }, ['a-0', 'b-0', 'b-1']],
    ['none', { total: 0 }, ['a-0', 'a-1', 'b-0', 'b-1']],
    ['after the limit of each container, few enough', { total: 2, perContainer: 1 }, []],
    ['young ones neither count nor go', { total: 1, minAgeMs: 15_000 }, ['a-0', 'b-0']],
  ])('%s', (_, policy, ids) => expect(surplus(policy)).toEqual(ids));

  test('never more stay than the limit, and none goes while they are within it', () => {
    const pods = fc.array(
      fc.array(fc.record({ name: fc.constantFrom('a', 'b'), age: fc.nat(90), runs: fc.boolean() }), { maxLength: 5 }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(
        pods,
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: -1, max: 3 }),
        (made, total, perContainer) => {
          const all = made.map((containers, pod) => ({
            containers: containers.map(({ name, age, runs }, n) => {
              const id = `${pod}-${n}`;
              return runs ? run({ name, id }) : { ...dead(name, 10 - n, age), id };
            }),
          }));
          const policy = policyOf({ total, perContainer });
          const gone = surplusContainers(all, policy, NOW);
          const ended = all.flatMap(({ containers }) => containers.filter(({ state }) => state === 'exited'));
          expect(
            all.flatMap(({ containers }) => containers).filter(({ id, state }) => gone.has(id) && state === 'running'),
          ).toEqual([]);
          if (gone.size > 0) expect(ended.length - gone.size).toBeLessThanOrEqual(total);
          if (ended.length <= total) expect(gone.size).toBe(0);
        },
      ),
    );
  });
});
