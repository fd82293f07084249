import { beforeEach, describe, expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import type { RuntimePod } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import type { PodRecord } from '../src/records/pod-record.ts';
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

/** The commands since the last call. */
function done(): string[] {
  return node.bridge.done.splice(0);
}

/** The instances that have published something about a pod since the last call. */
function publishers(): string[] {
  const facts = node.broker.said.splice(0).filter(({ subject }) => /\.worker\.fact\.[a-z]+\.a$/.test(subject));
  return [...new Set(facts.map(({ headers }) => headers[HEADER.source] ?? ''))];
}

describe('a pod that moves to another instance', () => {
  test('continues there with its known state, and is released by its old owner', async () => {
    await node.work(podOf('a'), here);
    await node.pass(5_000);
    node.bridge.exit('a', 'main', 1);
    await node.quiet();
    done();
    const before = node.status('a');
    publishers();
    await node.work(podOf('a'), there);
    expect([node.instance(0).count, node.instance(1).count]).toEqual([0, 1]);
    expect(done()).toEqual([]);
    expect(publishers()).toEqual(['pod-workers-1']);
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
    expect(publishers()).toEqual(['pod-workers-1']);
  });

  test('waits for a running command of its former worker, and nothing is done twice', async () => {
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

  test('and back is where it was', async () => {
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

  test('is stopped there when its first worker crashed while stopping it', async () => {
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
    // The shorter grace period that it had been given stays, though no message contains it any more.
    expect(done()).toEqual(expect.arrayContaining(['StopContainer c2 7', 'RemovePodSandbox s1']));
    expect(node.state('a')).toMatchObject({ state: 'finished' });
    expect((await node.records.load()).size).toBe(0);
  });
});

test('a state that is older than the recorded status makes no running container a lost one', async () => {
  const once = podOf('a', { restartPolicy: 'Never' });
  let beforeCreate: RuntimePod | undefined;
  node.bridge.before = (what) => {
    if (what.startsWith('CreateContainer')) beforeCreate = node.bridge.read('a');
    return Promise.resolve();
  };
  await node.work(once, here);
  expect(node.status('a')).toMatchObject({ phase: 'Running' });
  await node.pass(5_000);
  node.kill(0);
  const fenced = Promise.withResolvers<undefined>();
  node.bridge.before = () => fenced.promise;
  await node.work(once, there);
  if (beforeCreate === undefined) throw new Error('no container was created');
  node.bridge.publishEarlier(beforeCreate);
  await node.quiet();
  expect(node.status('a')).toMatchObject({ phase: 'Running', containerStatuses: [{ state: { running: {} } }] });
  fenced.resolve(undefined);
  await node.quiet();
  node.bridge.exit('a', 'main', 0);
  await node.quiet();
  expect(node.status('a')).toMatchObject({ phase: 'Succeeded' });
});

test('a recorded status that shows a container of a terminated pod as running was not its last', async () => {
  node.kill(0);
  await node.records.put('b', {
    ...recorded,
    machine: { state: 'terminated', forget: false },
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          ...{ name: 'main', image: 'busybox', imageID: '', restartCount: 0, ready: true, lastState: {} },
          state: { running: { startedAt: '2030-01-01T00:00:00Z' } },
        },
      ],
    },
  });
  await node.share([0], 3);
  await node.start(0);
  await node.work(podOf('b'), { ...here, term: 3, work: 'kill' });
  expect(node.status('b')?.containerStatuses).toMatchObject([
    { ready: false, state: { terminated: { reason: 'ContainerStatusUnknown', exitCode: 137 } } },
  ]);
});

describe('a recorded restart', () => {
  beforeEach(async () => {
    await node.work(podOf('a'), here);
    await node.pass(5_000);
    done();
  });

  test('that a crashed worker did not make is made by the next one at once, and then backs off as if made once', async () => {
    node.bridge.before = (what) => (what.startsWith('findImage') ? new Promise(() => undefined) : Promise.resolve());
    node.bridge.exit('a', 'main', 1);
    await node.quiet();
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

  test('that failed backs off before it is repeated', async () => {
    node.bridge.before = (what) =>
      what.startsWith('CreateContainer') ? Promise.reject(new KubusError('Unknown', 'no room')) : Promise.resolve();
    node.bridge.exit('a', 'main', 1);
    await node.quiet();
    expect(node.status('a')?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('CreateContainerError');
    node.bridge.before = () => Promise.resolve();
    await node.work(podOf('a'), { ...here, reason: 'look again' });
    expect(done()).toEqual([]);
    await node.pass(10_000);
    expect(done()).toEqual(['CreateContainer main/1', 'StartContainer c3']);
  });
});

/** The record of a worker that ended while it stopped pod `b`. */
const recorded = {
  version: 1,
  term: 1,
  ref: { namespace: 'default', name: 'pod-b', uid: 'b' },
  machine: { state: 'terminating', forget: true },
  backOffs: {},
};

/** The instances that have published the state of pod `b`, and the terms. */
function statePublishers(): string[] {
  const said = node.broker.said.filter(({ subject }) => subject.endsWith('.worker.fact.state.b'));
  return said.map(({ headers }) => `${headers[HEADER.source] ?? ''} ${headers[HEADER.term] ?? ''}`);
}

describe('a record of a pod that the sync loop does not know', () => {
  beforeEach(async () => {
    node.kill(0);
    await node.records.put('b', recorded);
  });

  test('is published by the instance that would own the pod, and the pod is stopped when the sync loop decides so', async () => {
    await node.share([0], 3);
    await node.start(0);
    await node.allWork();
    expect(node.state('b')).toMatchObject({ state: 'terminating' });
    expect(statePublishers()).toEqual(['pod-workers-0 3']);
    await node.work(podOf('b'), { ...there, term: 4, work: 'kill', pod: undefined, source: 'runtime' });
    expect(node.instance(0).count).toBe(0);
    expect(node.state('b')).toMatchObject({ state: 'finished' });
    expect((await node.records.load()).has('b')).toBe(false);
  });

  test('is not claimed until the share is known', async () => {
    await node.start(0);
    await node.allWork();
    // It cannot be claimed under a term that was not published.
    expect(statePublishers()).toEqual([]);
    await node.share([0], 3);
    expect(statePublishers()).toEqual(['pod-workers-0 3']);
  });

  test('is found by a running instance when the pod’s last worker is removed from the share', async () => {
    await node.share([0], 3);
    await node.allWork();
    expect(statePublishers()).toEqual([]);
    await node.share([1], 4);
    expect(statePublishers()).toEqual(['pod-workers-1 4']);
  });

  test('is found some time after a worker wrote it that did not know the end of the pod', async () => {
    await node.records.delete('b');
    await node.share([1], 3);
    await node.allWork();
    await node.records.put('b', recorded);
    expect(statePublishers()).toEqual([]);
    await node.pass(60_000);
    expect(statePublishers()).toEqual(['pod-workers-1 3']);
  });

  test('is published again under a newer term, by the instance that would own the pod then', async () => {
    await node.start(0);
    await node.share([0], 3);
    await node.allWork();
    await node.share([0, 1], 4);
    await node.share([1], 5);
    expect([statePublishers().at(0), statePublishers().at(-1)]).toEqual(['pod-workers-0 3', 'pod-workers-1 5']);
    expect([node.instance(0).count, node.instance(1).count]).toEqual([0, 1]);
    expect(await node.records.read('b')).toMatchObject({ term: 5, holder: 'pod-workers-1' });
  });

  test('and that is removed before all work is known is not published', async () => {
    await node.share([0], 3);
    await node.start(0);
    await node.records.delete('b');
    await node.allWork();
    expect(statePublishers()).toEqual([]);
    expect(node.instance(0).count).toBe(0);
  });
});

test('a running pod is not published as lost by a worker that has not received the runtime’s state yet', async () => {
  await node.work(podOf('a'), here);
  await node.pass(5_000);
  node.kill(0);
  const saidBefore = node.broker.said.length;
  node.setRuntime({ ...runtimeReady, ready: false });
  await node.start(0);
  await node.work(podOf('a'), { ...here, reason: 'desired still' });
  const statuses = () =>
    node.broker.said.slice(saidBefore).filter(({ subject }) => subject.endsWith('.worker.fact.status.a'));
  expect(statuses()).toEqual([]);
  node.setRuntime(runtimeReady);
  await node.quiet();
  expect(statuses()).toHaveLength(1);
  expect(node.status('a')).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 0 }] });
});
