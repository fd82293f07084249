// What stays of pods that have ended: none of those that were evicted, and none while disk space is short.
import { beforeEach, expect, test } from '@jest/globals';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

/** The commands since the last call. */
function done(): string[] {
  return node.bridge.done.splice(0);
}

test('a pod that was evicted keeps its status, and no container, sandbox or log', async () => {
  const pod = podOf('a', { terminationGracePeriodSeconds: 7 });
  await node.work(pod);
  done();
  const failure = { reason: 'Evicted', message: 'The node was low on resource: memory. ', disrupts: true };
  await node.work(pod, { work: 'evict', reason: 'evicted', failure, graceSeconds: 1 });
  expect(done()).toEqual([
    'StopContainer c2 2',
    'StopPodSandbox s1',
    'RemoveContainer c2',
    'StopPodSandbox s1',
    'RemovePodSandbox s1',
  ]);
  expect([...new Set(node.undone)]).toEqual(['logs a', 'cgroup a']);
  const shown = {
    phase: 'Failed',
    reason: 'Evicted',
    containerStatuses: [{ state: { terminated: { exitCode: 143 } } }],
  };
  expect(node.status('a')).toMatchObject(shown);
  expect(node.state('a')).toMatchObject({ state: 'terminated', cleaned: true });
  const before = node.status('a');
  node.kill();
  await node.start();
  await node.work(pod, { work: 'evict', reason: 'evicted', failure, graceSeconds: 1 });
  await node.pass(100_000);
  expect([node.status('a'), done()]).toEqual([before, []]);
});

test('a pod that has ended keeps its last run until disk space is short; one that lives is not touched', async () => {
  await node.work(podOf('a', { restartPolicy: 'Never' }));
  await node.work(podOf('b'));
  node.bridge.exit('a', 'main', 0);
  await node.quiet();
  done();
  await node.spaceShort(true);
  expect(done()).toEqual(['RemoveContainer c2', 'StopPodSandbox s1', 'RemovePodSandbox s1']);
  expect(node.undone).toContain('logs a');
  expect(node.status('a')).toMatchObject({
    phase: 'Succeeded',
    containerStatuses: [{ state: { terminated: { exitCode: 0 } } }],
  });
});

test('the limit of the whole node counts for the pods of all instances together, and spares what decides about a next run', async () => {
  node.deadContainers = { perContainer: 1, total: 1, minAgeMs: 0 };
  node.kill();
  await node.start();
  for (const uid of ['a', 'b']) {
    await node.work(podOf(uid, { restartPolicy: 'Never' }));
    await node.pass(1_000);
    node.bridge.exit(uid, 'main', 0);
    await node.quiet();
  }
  done();
  await node.pass(100_000);
  expect(done()).toEqual(['RemoveContainer c2']);
  expect([node.status('a')?.phase, node.status('b')?.phase]).toEqual(['Succeeded', 'Succeeded']);
});

const fromFile = { metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } };

test.each([
  ['a static pod whose manifest comes back unchanged goes on counting the runs of its containers', fromFile, 10_000, 1],
  ['it begins anew when it was away for longer', fromFile, 61_000, 0],
  ['so does any other pod', { metadata: {} }, 10_000, 0],
])('%s', async (_, { metadata }, awayMs, attempt) => {
  const made = podOf('a');
  const pod = { ...made, metadata: { ...made.metadata, ...metadata } };
  await node.work(pod);
  await node.pass(2_000);
  await node.work(pod, { work: 'kill', reason: 'removed' });
  await node.noWork('a');
  await node.pass(awayMs);
  done();
  await node.work(pod);
  expect(done()).toContain(`CreateContainer main/${attempt}`);
  expect(node.status('a')?.containerStatuses).toMatchObject([{ restartCount: attempt }]);
});
