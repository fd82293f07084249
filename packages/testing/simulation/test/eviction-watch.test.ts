import { beforeEach, expect, test } from '@jest/globals';
import { EvictionWatch } from '../src/eviction-watch.ts';
import { NodeMemory } from '../src/node-memory.ts';

let memory: NodeMemory;
let watch: EvictionWatch;

beforeEach(() => {
  memory = new NodeMemory(() => ({ uids: [], pod: () => ({ sandboxes: [], containers: [] }) }));
  watch = new EvictionWatch(memory, () => undefined);
});

const common = (uid: string) => ({ version: 1, ref: { namespace: 'default', name: uid, uid } });
const admitted = (uid: string) => ({
  ...common(uid),
  verdict: 'admitted',
  allocated: { containers: {} },
  claim: { requests: {}, hostPorts: [] },
});
const ending = (uid: string) => ({ ...common(uid), verdict: 'ending' });

/** What sync-loop writes of an eviction for a reading of this time. */
function evicted(uid: string, readAt: number): object {
  const kibi = memory.read(readAt).available / 1024;
  const failure = { reason: 'Evicted', message: `The node was low on resource: memory. available: ${kibi}Ki. ` };
  return { ...common(uid), verdict: 'evicted', failure, allocated: { containers: {} } };
}

const rules = () => watch.violations.map(({ rule }) => rule);

test('one pod after the other, each for a new reading, breaks no rule, and neither does what is written again', () => {
  const first = evicted('a', 0);
  watch.written('a', first, 10);
  watch.written('a', first, 20);
  watch.written('b', evicted('b', 11), 30);
  watch.written('a', ending('a'), 40);
  expect([rules(), [...watch.evicted]]).toEqual([[], ['a', 'b']]);
});

test('a pod that is evicted for two reasons was evicted twice', () => {
  watch.written('a', evicted('a', 0), 10);
  watch.written('a', evicted('a', 20), 30);
  expect(rules()).toEqual(['a pod is evicted once']);
});

test('a pod that is admitted after its eviction has come back', () => {
  watch.written('a', evicted('a', 0), 10);
  watch.written('a', admitted('a'), 20);
  expect(rules()).toEqual(['an evicted pod never comes back']);
});

test('a reading from before the last eviction must not cost a second pod', () => {
  watch.written('a', evicted('a', 0), 10);
  watch.written('b', evicted('b', 9), 20);
  expect(rules()).toEqual(['no pod is evicted for a reading older than the last eviction']);
});

test('an eviction for something that was never read is found', () => {
  const failure = { reason: 'Evicted', message: 'The node was low on resource: memory. ' };
  watch.written('a', { ...evicted('a', 0), failure }, 10);
  expect(rules()).toEqual(['an eviction names a reading of the node']);
});
