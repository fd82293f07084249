import { beforeEach, describe, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import { ScriptedNode, podOf, runtimeReady } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

/** The commands since the last call. */
function done(): string[] {
  return node.bridge.done.splice(0);
}

const started = ['RunPodSandbox pod-a/0', 'CreateContainer main/0', 'StartContainer c2'];

test('the pod’s addresses come with the answer of RunPodSandbox; without them the pod is read', async () => {
  const asked = () => node.broker.said.filter(({ subject }) => subject.includes('.runtime.cmd.read.')).length;
  await node.work(podOf('a'));
  expect(asked()).toBe(0);
  let failed = false;
  node.bridge.before = (what) => {
    if (what !== 'read' || failed) return Promise.resolve();
    failed = true;
    return Promise.reject(new KubusError('Unknown', 'disk error'));
  };
  await node.work(podOf('b'));
  expect(asked()).toBe(1);
  expect([node.status('a')?.podIP, node.status('b')?.podIP]).toEqual(['10.0.0.2', '10.0.0.2']);
});

describe('the network', () => {
  test('is waited for before a sandbox is created, and the pod’s status says so', async () => {
    node.setNetwork(false);
    await node.work(podOf('a'));
    expect(done()).toEqual([]);
    const text =
      'network is not ready: container runtime network not ready: ' +
      'NetworkReady=false reason:NetworkPluginNotReady message:no configuration';
    expect(node.events('a')).toEqual([`NetworkNotReady: ${text}`]);
    expect(node.state('a')).toMatchObject({ state: 'syncing', error: text });
    node.setNetwork(true);
    await node.pass(0);
    expect(done()).toEqual(started);
    expect(node.status('a')).toMatchObject({ phase: 'Running', podIP: '10.0.0.2' });
    expect(node.state('a')).not.toHaveProperty('error');
  });

  test('is not needed by a pod in the host’s network, which has the node’s address', async () => {
    node.setNetwork(false);
    await node.work(podOf('a', { hostNetwork: true }));
    expect(done()).toEqual(started);
    expect(node.status('a')).toMatchObject({ phase: 'Running', podIP: '192.0.2.1', hostIP: '192.0.2.1' });
  });

  test('that the runtime sets up itself is ready when the runtime says so', async () => {
    node.setNetwork(false);
    node.setRuntime({
      ...runtimeReady,
      network: 'runtime',
      networkReady: false,
      networkReason: 'NetworkPluginNotReady',
      networkMessage: 'cni not initialized',
    });
    await node.work(podOf('a'));
    expect(node.events('a')).toEqual([
      expect.stringMatching(/NetworkReady=false reason:NetworkPluginNotReady message:cni not initialized$/),
    ]);
    node.setRuntime({ ...runtimeReady, network: 'runtime', networkReady: true });
    await node.pass(0);
    expect(done()).toEqual(started);
  });
});

test('a runtime that is not ready is waited for', async () => {
  node.setRuntime({ ...runtimeReady, ready: false, message: 'starting' });
  await node.work(podOf('a'));
  expect(node.state('a')).toMatchObject({ error: 'the container runtime is not ready: starting' });
  node.setRuntime(runtimeReady);
  await node.pass(0);
  expect(done()).toEqual(started);
});

test('a start writes the pod’s record once before its first container, however many it has, and its status once later', async () => {
  const writes: number[] = [];
  const put = node.records.put.bind(node.records);
  node.records.put = (key, value) => {
    writes.push(node.bridge.done.filter((what) => what.startsWith('CreateContainer')).length);
    return put(key, value);
  };
  const containers = ['one', 'two', 'three'].map((name) => ({
    name,
    image: 'busybox',
    imagePullPolicy: 'IfNotPresent',
    resources: { requests: { cpu: '10m' } },
  }));
  await node.work(podOf('a', { containers }));
  expect([writes, done().length]).toEqual([[0], 7]);
  await node.pass(2_000);
  expect(writes).toHaveLength(2);
});

describe('a change in the runtime', () => {
  const reads = () => node.broker.said.filter(({ subject }) => subject.includes('.runtime.cmd.read.')).length;

  test('leads to a sync at once, by the fact alone', async () => {
    await node.work(podOf('a'));
    done();
    node.bridge.exit('a', 'main', 1);
    await node.quiet();
    expect(done()).toEqual(['CreateContainer main/1', 'StartContainer c3']);
  });

  test('that has removed the pod is read at once, and the pod starts again', async () => {
    await node.work(podOf('a'));
    done();
    node.bridge.vanish('a');
    await node.quiet();
    expect(reads()).toBe(1);
    expect(done()[0]).toBe('RunPodSandbox pod-a/0');
  });

  test('that a failed sync has made itself does not repeat it without a pause', async () => {
    let tries = 0;
    node.bridge.before = (what) => {
      if (!what.startsWith('CreateContainer')) return Promise.resolve();
      tries += 1;
      return Promise.reject(new KubusError('Unknown', 'disk error'));
    };
    await node.work(podOf('a'));
    expect([done(), tries]).toEqual([['RunPodSandbox pod-a/0'], 1]);
    await node.pass(15_000);
    expect(tries).toBe(2);
  });
});

describe('a container', () => {
  test('with a changed definition is stopped and created again in the same sandbox', async () => {
    await node.work(podOf('a'));
    done();
    await node.work(podOf('a', {}, { image: 'busybox:2', imagePullPolicy: 'Always' }));
    expect(done()).toEqual([
      'StopContainer c2 30',
      'pullImage busybox:2',
      'CreateContainer main/1',
      'StartContainer c3',
    ]);
    expect(node.events('a')).toContain('Killing: Container main definition changed, will be restarted');
    expect(node.status('a')?.containerStatuses).toMatchObject([{ ready: true, restartCount: 1 }]);
  });

  test.each([
    ['Never', 0, 'Succeeded'],
    ['Never', 3, 'Failed'],
    ['OnFailure', 0, 'Succeeded'],
  ])('with restart policy %s that exits with code %i ends its pod: %s', async (restartPolicy, code, phase) => {
    await node.work(podOf('a', { restartPolicy }));
    done();
    await node.pass(1_000);
    node.bridge.exit('a', 'main', code);
    await node.quiet();
    expect(done()).toEqual(['StopPodSandbox s1']);
    expect(node.status('a')).toMatchObject({
      phase,
      containerStatuses: [{ state: { terminated: { exitCode: code } } }],
    });
    expect(node.state('a')).toMatchObject({ state: 'terminated' });
    expect(node.undone).toEqual(['cgroup a']);
    // Ended containers stay for inspection, also after a restart.
    node.kill();
    await node.start();
    await node.work(podOf('a', { restartPolicy }));
    expect(done()).toEqual([]);
    expect(node.status('a')).toMatchObject({ phase });
  });

  test('of a completed pod keeps only its last run', async () => {
    const pod = podOf('a', { restartPolicy: 'OnFailure' });
    await node.work(pod);
    await node.pass(1_000);
    node.bridge.exit('a', 'main', 1);
    await node.quiet();
    await node.pass(11_000);
    done();
    node.bridge.exit('a', 'main', 0);
    await node.quiet();
    expect(done()).toEqual(['StopPodSandbox s1', 'RemoveContainer c2']);
    expect(node.undone).toEqual(['run main/0', 'cgroup a']);
    expect(node.status('a')).toMatchObject({
      phase: 'Succeeded',
      containerStatuses: [
        { restartCount: 1, state: { terminated: { exitCode: 0 } }, lastState: { terminated: { exitCode: 1 } } },
      ],
    });
  });

  test('with restart policy OnFailure restarts after a failure, with back-off from the second time on', async () => {
    const pod = podOf('a', { restartPolicy: 'OnFailure' });
    await node.work(pod);
    await node.pass(1_000);
    node.bridge.exit('a', 'main', 1);
    done();
    await node.quiet();
    expect(done()).toEqual(['CreateContainer main/1', 'StartContainer c3']);

    for (const [wait, text] of [
      [10_000, '10s'],
      [20_000, '20s'],
    ] as const) {
      await node.pass(1_000);
      node.bridge.exit('a', 'main', 1);
      await node.quiet();
      // Of a container's dead runs only the newest is kept.
      expect(done().filter((what) => !what.startsWith('RemoveContainer'))).toEqual([]);
      expect(node.status('a')?.containerStatuses?.[0]?.state?.waiting).toEqual({
        reason: 'CrashLoopBackOff',
        message: `back-off ${text} restarting failed container=main pod=pod-a_default(a)`,
      });
      await node.pass(wait - 1);
      expect(done()).toEqual([]);
      await node.pass(1);
      expect(done()).toEqual([expect.stringMatching(/^CreateContainer main/), expect.stringMatching(/^Start/)]);
    }
    expect(node.events('a').filter((text) => text.startsWith('BackOff'))).toHaveLength(2);
  });

  test('keeps its back-off when pod-workers restarts right after a restart of the container', async () => {
    await node.work(podOf('a'));
    await node.pass(5_000);
    node.bridge.exit('a', 'main', 1);
    await node.quiet();
    node.kill();
    await node.start();
    node.bridge.exit('a', 'main', 1);
    done();
    await node.work(podOf('a'), { reason: 'it ended again' });
    expect(done()).toEqual(['RemoveContainer c2']);
    expect(node.status('a')?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('CrashLoopBackOff');
    await node.pass(10_000);
    expect(done()).toEqual(['CreateContainer main/2', 'StartContainer c4']);
  });

  test.each([
    ['CreateContainer', 'CreateContainerError'],
    ['StartContainer', 'RunContainerError'],
  ])('that the runtime refuses at %s waits with the reason %s', async (method, reason) => {
    node.bridge.before = (what) =>
      what.startsWith(method) ? Promise.reject(new KubusError('Unknown', 'no such device')) : Promise.resolve();
    await node.work(podOf('a'));
    expect(node.status('a')?.containerStatuses?.[0]?.state?.waiting).toEqual({
      reason,
      message: expect.stringContaining('no such device'),
    });
    expect(node.events('a')).toContainEqual(expect.stringMatching(/^Failed: Error: .*no such device/));
    node.bridge.before = () => Promise.resolve();
    await node.pass(10_000);
    expect(node.status('a')?.phase).toBe('Running');
  });
});

describe('a container that ends because it cannot be started', () => {
  test('is in CrashLoopBackOff after a second attempt, within seconds', async () => {
    let attempts = 0;
    node.bridge.before = (what) => {
      if (!what.startsWith('StartContainer')) return Promise.resolve();
      attempts += 1;
      node.bridge.exit('a', 'main', 128);
      return Promise.reject(new KubusError('Unknown', 'no such file'));
    };
    await node.work(podOf('a'));
    const waiting = () => node.status('a')?.containerStatuses?.[0]?.state?.waiting?.reason;
    expect(waiting()).toBe('RunContainerError');
    await node.pass(4_000);
    expect([attempts, waiting()]).toEqual([2, 'CrashLoopBackOff']);
  });
});

describe('stopping a pod', () => {
  test('that is no longer desired removes its containers, sandbox, files, cgroup and record, in this order', async () => {
    const pod = podOf('a', { terminationGracePeriodSeconds: 7 });
    await node.work(pod);
    await node.pass(2_000);
    expect((await node.records.load()).has('a')).toBe(true);
    done();
    await node.work(pod, { work: 'kill', reason: 'removed' });
    expect(done()).toEqual(['StopContainer c2 7', 'StopPodSandbox s1', 'RemoveContainer c2', 'RemovePodSandbox s1']);
    expect(node.undone).toEqual(['files a', 'cgroup a']);
    expect(node.state('a')).toMatchObject({ state: 'finished' });
    expect((await node.records.load()).size).toBe(0);
    await node.noWork('a');
    expect([node.state('a'), node.status('a'), node.workers.count]).toEqual([undefined, undefined, 0]);
  });

  test('that is being deleted keeps its containers for inspection until it is no longer desired', async () => {
    const pod = podOf('a');
    await node.work(pod);
    done();
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
    await node.work({ ...deleted, metadata: { ...deleted.metadata, deletionGracePeriodSeconds: 5 } });
    expect(done()).toEqual(['StopContainer c2 5', 'StopPodSandbox s1']);
    expect(node.undone).toEqual(['cgroup a']);
    expect(node.state('a')).toMatchObject({ state: 'terminated' });
    await node.work(deleted, { work: 'kill' });
    expect(done()).toEqual(['RemoveContainer c2', 'RemovePodSandbox s1']);
    expect(node.undone).toEqual(['cgroup a', 'files a', 'cgroup a']);
    expect(node.state('a')).toMatchObject({ state: 'finished' });
  });

  test('that stops being desired during its cleanup still removes everything', async () => {
    const pod = podOf('a');
    await node.work(pod);
    const held = Promise.withResolvers<undefined>();
    node.cgroupRemoval = held.promise;
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
    await node.work(deleted);
    await node.work(deleted, { work: 'kill' });
    done();
    held.resolve(undefined);
    await node.quiet();
    expect(done()).toEqual(['RemoveContainer c2', 'RemovePodSandbox s1']);
    expect(node.undone).toEqual(['cgroup a', 'files a', 'cgroup a']);
    expect(node.state('a')).toMatchObject({ state: 'finished' });
    expect((await node.records.load()).size).toBe(0);
  });

  test('continues with a shorter grace period that it gets meanwhile', async () => {
    const pod = podOf('a', { terminationGracePeriodSeconds: 60 });
    await node.work(pod);
    done();
    const stop = Promise.withResolvers<undefined>();
    node.bridge.before = (what) =>
      what === 'StopContainer c2 60' ? stop.promise.then(() => undefined) : Promise.resolve();
    await node.work(pod, { work: 'kill' });
    expect(done()).toEqual([]);
    await node.work(pod, { work: 'kill', graceSeconds: 3 });
    expect(done().slice(0, 2)).toEqual(['StopContainer c2 3', 'StopPodSandbox s1']);
    stop.resolve(undefined);
    await node.quiet();
    expect(node.state('a')).toMatchObject({ state: 'finished' });
  });

  test('that only the runtime knows uses the shortest grace period', async () => {
    await node.work(podOf('a'));
    node.kill();
    await node.records.delete('a');
    await node.noWork('a');
    await node.start();
    done();
    await node.work(podOf('a'), { pod: undefined, work: 'kill', source: 'runtime', reason: 'unknown' });
    expect(done()).toEqual(['StopContainer c2 2', 'StopPodSandbox s1', 'RemoveContainer c2', 'RemovePodSandbox s1']);
  });

  test('continues after a restart of pod-workers, and reports the pod to a sync loop that does not know it', async () => {
    const pod = podOf('a');
    await node.work(pod);
    const stop = Promise.withResolvers<undefined>();
    node.bridge.before = () => stop.promise.then(() => undefined);
    await node.work(pod, { work: 'kill' });
    node.kill();
    await node.noWork('a');
    node.bridge.before = () => Promise.resolve();
    stop.reject(new KubusError('Unknown', 'broken'));
    await node.start();
    done();
    await node.allWork();
    expect(node.state('a')).toMatchObject({ state: 'terminating' });
    expect(done()).toEqual([]);
    await node.work(pod, { work: 'kill', pod: undefined, source: 'runtime' });
    // Without a spec it gets as little time as one that only the runtime knows.
    expect(done()).toEqual(['StopContainer c2 2', 'StopPodSandbox s1', 'RemoveContainer c2', 'RemovePodSandbox s1']);
    expect(node.state('a')).toMatchObject({ state: 'finished' });
    expect((await node.records.load()).size).toBe(0);
  });

  test('does not fail because of a record that cannot be written, which the service’s health reports', async () => {
    node.records.failure = new KubusError('state-folder', 'no space left');
    await node.work(podOf('a'));
    expect(node.status('a')?.phase).toBe('Running');
    await node.pass(2_000);
    expect(node.workers.saveError).toBe('no space left');
    node.records.failure = undefined;
    await node.work(podOf('a'), { work: 'kill' });
    expect(node.state('a')).toMatchObject({ state: 'finished' });
    expect(node.workers.saveError).toBeUndefined();
  });
});

test('a pod with unsupported fields is refused as a whole, and the fields are named', async () => {
  const volumes = [{ name: 'code', gitRepo: { repository: 'r' } }];
  await node.work(podOf('a', { initContainers: [{ name: 'first' }], volumes }));
  expect(done()).toEqual([]);
  const message = 'this version of Kubus does not support: spec.volumes[0].gitRepo';
  expect(node.state('a')?.error).toBe(message);
  expect(node.events('a').slice(0, 1)).toEqual([`Unsupported: ${message}`]);
  expect(node.fields('a', 'Unsupported')).toEqual(['spec.initContainers{first}', 'spec.containers{main}']);
  await node.pass(30_000);
  expect(node.events('a')).toHaveLength(2);
});
