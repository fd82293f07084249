import { beforeEach, describe, expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import { KubusError } from '@kubus/ports';
import type { PodRecord } from '../src/pod-record.ts';
import { ScriptedNode, podOf, runtimeReady } from './scripted-node.ts';

const [here, there] = [
  { worker: 'pod-workers-0', term: 1 },
  { worker: 'pod-workers-1', term: 2 },
];
let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start(0);
  await node.start(1);
});

/** The commands since the last time. */
function done(): string[] {
  return node.bridge.done.splice(0);
}

/** Which instances have said something of a pod since the last time. */
function speakers(): string[] {
  const facts = node.broker.said.splice(0).filter(({ subject }) => /\.worker\.fact\.[a-z]+\.a$/.test(subject));
  return [...new Set(facts.map(({ headers }) => headers[HEADER.source] ?? ''))];
}

describe('a pod that moves to another instance', () => {
  test('runs on there, with what was known of it, and is let go of here', async () => {
    await node.work(podOf('a'), here);
    await node.pass(5_000);
    node.bridge.exit('a', 'main', 1);
    await node.work(podOf('a'), { ...here, reason: 'it ended' });
    done();
    const before = node.status('a');
    speakers();
    await node.work(podOf('a'), there);
    expect([node.instance(0).count, node.instance(1).count]).toEqual([0, 1]);
    expect(done()).toEqual([]);
    expect(speakers()).toEqual(['pod-workers-1']);
    await node.work(podOf('a'), { ...there, reason: 'tell once more' });
    node.bridge.exit('a', 'main', 1);
    await node.work(podOf('a'), { ...there, reason: 'it ended again' });
    expect(done()).toEqual(['RemoveContainer c2']);
    expect(node.status('a')).toMatchObject({
      startTime: before?.startTime,
      containerStatuses: [{ restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } }],
    });
    await node.pass(10_000);
    expect(done()).toEqual(['CreateContainer main/2', 'StartContainer c4']);
    expect(speakers()).toEqual(['pod-workers-1']);
  });

  test('leaves a command of its former worker behind: it is waited for, and nothing is done twice', async () => {
    const gate = Promise.withResolvers<undefined>();
    node.bridge.before = (what) => (what.startsWith('RunPodSandbox') ? gate.promise : Promise.resolve());
    await node.work(podOf('a'), here);
    await node.work(podOf('a'), there);
    expect(done()).toEqual([]);
    gate.resolve(undefined);
    await node.quiet();
    expect(done()).toEqual(['RunPodSandbox pod-a/0', 'CreateContainer main/0', 'StartContainer c2']);
    expect(node.status('a')).toMatchObject({ phase: 'Running' });
  });

  test('and back again is where it was', async () => {
    await node.work(podOf('a'), here);
    await node.work(podOf('a'), there);
    await node.work(podOf('a'), { ...here, term: 3 });
    expect([node.instance(0).count, node.instance(1).count]).toEqual([1, 0]);
    done();
    await node.work(podOf('a'), { ...here, term: 3, work: 'kill' });
    expect(done()).toEqual(['StopContainer c2 30', 'StopPodSandbox s1', 'RemoveContainer c2', 'RemovePodSandbox s1']);
    expect(node.state('a')).toMatchObject({ state: 'finished' });
    await node.noWork('a');
    expect([node.instance(0).count, node.instance(1).count]).toEqual([0, 0]);
    expect((await node.records.load()).size).toBe(0);
  });

  test('is ended there when its first worker has died in the middle of its end', async () => {
    await node.work(podOf('a'), here);
    await node.pass(5_000);
    const never = Promise.withResolvers<undefined>();
    node.bridge.before = () => never.promise;
    await node.work(podOf('a'), { ...here, work: 'kill', graceSeconds: 7 });
    node.kill(0);
    done();
    node.bridge.before = () => Promise.resolve();
    never.resolve(undefined);
    await node.work(podOf('a'), { ...there, work: 'kill' });
    // The shorter time that it had been given stands, though nobody speaks of it any more.
    expect(done()).toEqual(expect.arrayContaining(['StopContainer c2 7', 'RemovePodSandbox s1']));
    expect(node.state('a')).toMatchObject({ state: 'finished' });
    expect((await node.records.load()).size).toBe(0);
  });
});

describe('a restart that was written down', () => {
  beforeEach(async () => {
    await node.work(podOf('a'), here);
    await node.pass(5_000);
    done();
  });

  test('and not made by a worker that died is made by the next one at once, and waits after that as if made once', async () => {
    node.bridge.before = (what) => (what.startsWith('findImage') ? new Promise(() => undefined) : Promise.resolve());
    node.bridge.exit('a', 'main', 1);
    await node.work(podOf('a'), { ...here, reason: 'it ended' });
    const { backOffs } = (await node.records.read('a')) as PodRecord;
    expect(Object.values(backOffs)).toEqual([expect.objectContaining({ waitMs: 10_000, attempt: 1 })]);
    expect(done()).toEqual([]);
    node.kill(0);
    node.bridge.before = () => Promise.resolve();
    await node.work(podOf('a'), there);
    expect(done()).toEqual(['CreateContainer main/1', 'StartContainer c3']);
    node.bridge.exit('a', 'main', 1);
    await node.work(podOf('a'), { ...there, reason: 'it ended again' });
    const [main] = node.status('a')?.containerStatuses ?? [];
    expect(main?.state?.waiting?.message).toMatch(/^back-off 10s /);
    await node.pass(9_000);
    expect(done().filter((what) => what.startsWith('Create'))).toEqual([]);
    await node.pass(1_000);
    expect(done()).toContain('CreateContainer main/2');
  });

  test('and failed waits before it is made again', async () => {
    node.bridge.before = (what) =>
      what.startsWith('CreateContainer') ? Promise.reject(new KubusError('Unknown', 'no room')) : Promise.resolve();
    node.bridge.exit('a', 'main', 1);
    await node.work(podOf('a'), { ...here, reason: 'it ended' });
    expect(node.status('a')?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('CreateContainerError');
    node.bridge.before = () => Promise.resolve();
    await node.work(podOf('a'), { ...here, reason: 'look again' });
    expect(done()).toEqual([]);
    await node.pass(10_000);
    expect(done()).toEqual(['CreateContainer main/1', 'StartContainer c3']);
  });
});

/** What a worker has left of pod `b` in the middle of its end. */
const recorded = {
  version: 1,
  term: 1,
  ref: { namespace: 'default', name: 'pod-b', uid: 'b' },
  machine: { state: 'terminating', forget: true },
  backOffs: {},
};

/** Who has told of the state of pod `b` under which terms. */
function tellers(): string[] {
  const said = node.broker.said.filter(({ subject }) => subject.endsWith('.worker.fact.state.b'));
  return said.map(({ headers }) => `${headers[HEADER.source] ?? ''} ${headers[HEADER.term] ?? ''}`);
}

describe('a record of which the sync loop knows nothing', () => {
  beforeEach(async () => {
    node.kill(0);
    await node.records.put('b', recorded);
  });

  test('is told of by the one who would have the pod, and ended by whom the sync loop says', async () => {
    await node.share([0], 3);
    await node.start(0);
    await node.allWork();
    expect(node.state('b')).toMatchObject({ state: 'terminating' });
    expect(tellers()).toEqual(['pod-workers-0 3']);
    await node.work(podOf('b'), { ...there, term: 4, work: 'kill', pod: undefined, source: 'runtime' });
    expect(node.instance(0).count).toBe(0);
    expect(node.state('b')).toMatchObject({ state: 'finished' });
    expect((await node.records.load()).has('b')).toBe(false);
  });

  test('is left alone until it is known who shares the pods', async () => {
    await node.start(0);
    await node.allWork();
    // Under the term of nobody's word it is not to be had.
    expect(tellers()).toEqual([]);
    await node.share([0], 3);
    expect(tellers()).toEqual(['pod-workers-0 3']);
  });

  test('is found by an instance that has run all the while, when its last worker is taken from those that share', async () => {
    await node.share([0], 3);
    await node.allWork();
    expect(tellers()).toEqual([]);
    await node.share([1], 4);
    expect(tellers()).toEqual(['pod-workers-1 4']);
  });

  test('is found some time after it was written by one that did not know that the pod was over', async () => {
    await node.records.delete('b');
    await node.share([1], 3);
    await node.allWork();
    await node.records.put('b', recorded);
    expect(tellers()).toEqual([]);
    await node.pass(60_000);
    expect(tellers()).toEqual(['pod-workers-1 3']);
  });

  test('is told of anew under a newer term, by whoever would have the pod then', async () => {
    await node.start(0);
    await node.share([0], 3);
    await node.allWork();
    await node.share([0, 1], 4);
    await node.share([1], 5);
    expect([tellers().at(0), tellers().at(-1)]).toEqual(['pod-workers-0 3', 'pod-workers-1 5']);
    expect([node.instance(0).count, node.instance(1).count]).toEqual([0, 1]);
    expect(await node.records.read('b')).toMatchObject({ term: 5, holder: 'pod-workers-1' });
  });

  test('and that is gone by the time when all works are known is not told of', async () => {
    await node.share([0], 3);
    await node.start(0);
    await node.records.delete('b');
    await node.allWork();
    expect(tellers()).toEqual([]);
    expect(node.instance(0).count).toBe(0);
  });
});

test('a pod that runs is not told of as lost by a worker that has not heard of the runtime yet', async () => {
  await node.work(podOf('a'), here);
  await node.pass(5_000);
  node.kill(0);
  const told = node.broker.said.length;
  node.setRuntime({ ...runtimeReady, ready: false });
  await node.start(0);
  await node.work(podOf('a'), { ...here, reason: 'desired still' });
  const statuses = () =>
    node.broker.said.slice(told).filter(({ subject }) => subject.endsWith('.worker.fact.status.a'));
  expect(statuses()).toEqual([]);
  node.setRuntime(runtimeReady);
  await node.quiet();
  expect(statuses()).toHaveLength(1);
  expect(node.status('a')).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 0 }] });
});
