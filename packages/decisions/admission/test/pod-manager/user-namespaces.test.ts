import { ID_UNIT, type IdRange, type Pod } from '@kubus/contracts';
import { pod as makePod, runtime } from '@kubus/pod-lifecycle/testing';
import { beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Loop as BaseLoop, NOW } from './loop.ts';
import { ids, node } from './small-node.ts';

/** On a node with enough room for pods, but ids for only a few of them. */
class Loop extends BaseLoop {
  constructor(pool = ids) {
    super({ node: { ...node, allocatable: { pods: '100' } }, ids: pool, sources: ['file'] });
  }

  override restart(): this {
    this.works.clear();
    return super.restart();
  }

  want(uid: string, spec: Partial<Pod['spec']> = { hostUsers: false }): void {
    this.desire(makePod(spec, { uid, name: uid }));
  }

  runtime(uid: string, there: boolean): void {
    this.state.runtime(uid, there ? { ...runtime([]), ref: { namespace: 'default', name: uid, uid } } : undefined);
    this.apply(this.state.decide(uid, NOW));
  }

  range(uid: string): IdRange | undefined {
    return this.works.get(uid)?.userNamespace;
  }
}

let loop: Loop;
beforeEach(() => {
  loop = new Loop();
  loop.known();
});

test('only pods with a user namespace get ids', () => {
  loop.want('a', {});
  loop.want('b', { hostUsers: true });
  loop.want('c');
  expect([loop.range('a'), loop.range('b')]).toEqual([undefined, undefined]);
  expect(loop.range('c')).toEqual({ hostId: expect.any(Number), length: ID_UNIT });
});

test('a pod for which no ids were left gets them when another pod has been removed from the runtime', () => {
  for (const uid of ['a', 'b', 'c', 'd', 'e']) loop.want(uid);
  loop.runtime('a', true);
  expect([loop.works.get('e')?.work, loop.range('e')]).toEqual(['sync', undefined]);
  const { hostId } = loop.range('a') ?? {};
  loop.drop('a');
  expect(loop.range('a')).toMatchObject({ hostId });
  // What the worker has left still exists, even for a loop that has forgotten why.
  loop.worker('a', 'finished');
  loop.decideAll();
  expect([loop.records.get('a')?.verdict, loop.range('e')]).toEqual(['ending', undefined]);
  loop.restart();
  for (const uid of ['b', 'c', 'd', 'e']) loop.want(uid);
  loop.state.runtime('a', { ...runtime([]), ref: { namespace: 'default', name: 'a', uid: 'a' } });
  loop.known();
  expect(loop.range('e')).toBeUndefined();
  loop.worker('a', 'finished');
  loop.runtime('a', false);
  loop.decideAll();
  expect(loop.records.has('a')).toBe(false);
  expect(loop.range('e')).toMatchObject({ hostId });
});

test('a pod that was not started releases its ids at once', () => {
  loop.want('a');
  loop.drop('a');
  expect(loop.records.get('a')?.verdict).toBe('ending');
  loop.worker('a', 'finished');
  expect(loop.records.has('a')).toBe(false);
});

test('a pod whose record is lost gets the same ids again', () => {
  loop.want('a');
  const range = loop.range('a');
  loop.records.delete('a');
  loop.restart();
  loop.state.runtime('a', runtime([]));
  loop.want('a');
  expect(loop.range('a')).toEqual(range);
});

/** What can happen to the pods, in any order. */
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constant('want' as const), fc.integer({ min: 0, max: 3 })) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('drop' as const), fc.integer({ min: 0, max: 3 })) },
    { weight: 4, arbitrary: fc.tuple(fc.constant('end' as const), fc.integer({ min: 0, max: 3 })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('restart' as const), fc.integer({ min: 0, max: 3 })) },
  ),
  { maxLength: 40 },
);

test('whatever happens, pods on the node never share ids, and keep their ids', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const one = new Loop({ ...ids, count: 2 * ID_UNIT });
      one.known();
      /** The pods of the runtime, each with the ids with which it was started. */
      const running = new Map<string, IdRange>();
      const wanted = new Set<string>();
      const start = () => {
        for (const [uid, { work, userNamespace }] of one.works) {
          if (work !== 'sync' || userNamespace === undefined || running.has(uid)) continue;
          running.set(uid, userNamespace);
          one.worker(uid, 'syncing');
          one.runtime(uid, true);
        }
      };
      for (const [what, number] of history) {
        const uid = `pod-${number}`;
        if (what === 'want') {
          one.want(uid);
          wanted.add(uid);
        } else if (what === 'drop') {
          one.drop(uid);
          wanted.delete(uid);
        } else if (what === 'end' && one.works.get(uid)?.work === 'kill') {
          running.delete(uid);
          one.runtime(uid, false);
          one.worker(uid, 'finished');
          one.worker(uid, undefined);
        } else if (what === 'restart') {
          one.restart();
          for (const there of running.keys()) one.runtime(there, true);
          for (const pod of wanted) one.want(pod);
          one.known();
        }
        start();
        const ranges = [...running.values()].map(({ hostId }) => hostId);
        expect(new Set(ranges).size).toBe(ranges.length);
        for (const [there, range] of running) {
          const assigned = one.works.get(there);
          if (assigned?.work === 'sync') expect(assigned.userNamespace).toEqual(range);
        }
      }
    }),
    { numRuns: 300 },
  );
});
