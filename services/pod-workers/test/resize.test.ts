import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Container, Pod, PodStatus } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

const MI = 1024 * 1024;

/** A pod with one container whose limits are twice its requests: CPU in thousandths, memory in Mi. */
function sized(generation: number, cpu: number, memory: number, container: Partial<Container> = {}): Pod {
  const requests = { cpu: `${cpu}m`, memory: `${memory}Mi` };
  const limits = { cpu: `${2 * cpu}m`, memory: `${2 * memory}Mi` };
  const pod = podOf('a', {}, { resources: { requests, limits }, ...container });
  return { ...pod, metadata: { ...pod.metadata, generation } };
}

/** Publishes the pod with the resources that it has been granted. */
async function grant(pod: Pod): Promise<void> {
  const { generation } = pod.metadata;
  await node.work(pod, { ...(generation !== undefined && { allocatedGeneration: generation }) });
}

/** The commands and changes of cgroups since the last call. */
function done(): string[] {
  return node.bridge.done.splice(0);
}

function conditions(status: PodStatus | undefined): string[] {
  return (status?.conditions ?? [])
    .filter(({ type }) => type.startsWith('PodResize'))
    .map(({ type, reason, observedGeneration }) => [type, reason, observedGeneration].join(' '));
}

/** The events about resizes. */
function resizeEvents(): string[] {
  return node.events('a').filter((event) => event.startsWith('Resize'));
}

const summary = (cpu: number, memory: number, generation: number, error?: string) =>
  JSON.stringify({
    containers: [
      {
        name: 'main',
        resources: {
          limits: { cpu: `${2 * cpu}m`, memory: `${2 * memory}Mi` },
          requests: { cpu: `${cpu}m`, memory: `${memory}Mi` },
        },
      },
    ],
    generation,
    ...(error !== undefined && { error }),
  });

describe('a pod that is granted', () => {
  test('more resources gets them in its cgroup first, memory before CPU, without a restart', async () => {
    await grant(sized(1, 100, 64));
    done();
    await grant(sized(2, 200, 128));
    expect(done()).toEqual([
      `cgroup 102 20000 ${256 * MI}`,
      `UpdateContainerResources c2 102 20000 ${256 * MI}`,
      `cgroup 102 40000 ${256 * MI}`,
      `cgroup 204 40000 ${256 * MI}`,
      `UpdateContainerResources c2 204 40000 ${256 * MI}`,
    ]);
    expect(resizeEvents()).toEqual([
      `ResizeStarted: Pod resize started: ${summary(200, 128, 2)}`,
      `ResizeCompleted: Pod resize completed: ${summary(200, 128, 2)}`,
    ]);
    const status = node.status('a');
    expect(conditions(status)).toEqual([]);
    expect(status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 0,
      allocatedResources: { cpu: '200m', memory: '128Mi' },
      resources: { limits: { cpu: '400m' }, requests: { memory: '128Mi' } },
    });
    await node.pass(60_000);
    expect(done()).toEqual([]);
  });

  test('less resources gets them in its containers first', async () => {
    await grant(sized(1, 200, 128));
    done();
    await grant(sized(2, 100, 64));
    expect(done()).toEqual([
      `UpdateContainerResources c2 204 40000 ${128 * MI}`,
      `cgroup 204 40000 ${128 * MI}`,
      `UpdateContainerResources c2 102 20000 ${128 * MI}`,
      `cgroup 102 40000 ${128 * MI}`,
      `cgroup 102 20000 ${128 * MI}`,
    ]);
  });

  test('less memory than it uses keeps its limits, reports the error, and retries', async () => {
    await grant(sized(1, 100, 64));
    done();
    node.memoryUsage = BigInt(100 * MI);
    node.bridge.memoryUsage = String(90 * MI);
    await grant(sized(2, 100, 32));
    expect(done()).toEqual([]);
    const error =
      'cannot decrease memory limits: [' +
      `attempting to set pod memory limit (${64 * MI}) below current usage (${100 * MI}), ` +
      `attempting to set container "main" memory limit (${64 * MI}) below current usage (${90 * MI})]`;
    expect(conditions(node.status('a'))).toEqual(['PodResizeInProgress Error 2']);
    expect(resizeEvents().slice(1)).toEqual([`ResizeError: Pod resize error: ${summary(100, 32, 2, error)}`]);
    expect(node.status('a')?.containerStatuses?.[0]).toMatchObject({
      allocatedResources: { memory: '32Mi' },
      resources: { limits: { memory: '128Mi' } },
    });
    node.memoryUsage = 0n;
    node.bridge.memoryUsage = '0';
    await node.pass(15_000);
    expect(done()).toHaveLength(2);
    expect(conditions(node.status('a'))).toEqual([]);
    expect(resizeEvents().at(-1)).toMatch(/^ResizeCompleted/);
  });

  test('resources that require a restart by its resize policy is restarted with them', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    await grant(sized(1, 100, 64, { resizePolicy }));
    done();
    await grant(sized(2, 200, 64, { resizePolicy }));
    expect(done().filter((what) => /Stop|Start/.test(what))).toEqual([]);
    await grant(sized(3, 200, 32, { resizePolicy }));
    expect(done()).toEqual([
      'StopContainer c2 30',
      'CreateContainer main/1',
      'StartContainer c3',
      `cgroup 204 40000 ${64 * MI}`,
    ]);
    expect(node.events('a')).toContain('Killing: Container main resize requires restart');
    expect(conditions(node.status('a'))).toEqual([]);
  });

  test('resources while pod-workers is down gets them once, without a restart', async () => {
    const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
    await grant(sized(1, 100, 64, { resizePolicy }));
    node.kill();
    await node.start();
    await node.allWork();
    done();
    await grant(sized(2, 100, 128, { resizePolicy }));
    node.kill();
    await node.start();
    await grant(sized(2, 100, 128, { resizePolicy }));
    expect(done()).toEqual([`cgroup 102 20000 ${256 * MI}`, `UpdateContainerResources c2 102 20000 ${256 * MI}`]);
  });

  test('more memory has what follows from it written too: swap, protection, throttling', async () => {
    node.kill();
    node.machine = {
      kernel: { cgroupVersion: 2, hugepageSizes: [2n * 1024n ** 2n], accountsForSwap: true, pageSize: 4096n },
      enforcement: {
        swap: { behavior: 'NoSwap', capacity: 0n },
        memoryQos: { throttlingFactor: 0.5, reservation: 'TieredReservation', allocatable: 0n, pageSize: 4096n },
      },
    };
    await node.start();
    await grant(sized(1, 100, 64));
    const unified = (request: number) => ({
      'memory.oom.group': '1',
      'memory.swap.max': '0',
      'memory.low': String(request * MI),
      'memory.high': String(1.5 * request * MI),
    });
    expect(node.bridge.configs.get('main')?.linux?.resources?.unified).toEqual(unified(64));
    await grant(sized(2, 100, 128));
    expect(node.bridge.resized).toMatchObject({
      unified: unified(128),
      hugepageLimits: [{ pageSize: '2MB', limit: '0' }],
    });
  });

  test('resources that the runtime refuses does not continue with the remaining steps', async () => {
    await grant(sized(1, 100, 64));
    node.bridge.before = (what) =>
      what.startsWith('UpdateContainerResources')
        ? Promise.reject(new KubusError('Unknown', 'no such cgroup'))
        : Promise.resolve();
    await grant(sized(2, 100, 128));
    expect(conditions(node.status('a'))).toEqual(['PodResizeInProgress Error 2']);
    expect(resizeEvents().at(-1)).toContain('no such cgroup');
    expect(node.state('a')).toMatchObject({ state: 'syncing', error: expect.stringContaining('no such cgroup') });
    node.bridge.before = () => Promise.resolve();
    await node.pass(15_000);
    expect(conditions(node.status('a'))).toEqual([]);
  });
});

describe('a resize that is not granted', () => {
  test.each([
    ['OutOfcpu', 'Deferred'],
    ['Infeasible', 'Infeasible'],
  ])('for %s has one event for each change of the pod', async (reason, shown) => {
    await grant(sized(1, 100, 64));
    done();
    const wanted = (generation: number) => ({
      generation,
      containers: { main: { limits: { memory: '128Mi', cpu: '18' }, requests: { memory: '64Mi', cpu: '9' } } },
    });
    const waiting = sized(2, 100, 64);
    const pendingResize = { reason, message: 'too much', wanted: wanted(2) };
    await node.work(waiting, { allocatedGeneration: 1, pendingResize });
    await node.work(waiting, {
      allocatedGeneration: 1,
      pendingResize: { ...pendingResize, message: 'still too much' },
    });
    expect(done()).toEqual([]);
    expect(conditions(node.status('a'))).toEqual([`PodResizePending ${shown} 2`]);
    expect(node.status('a')?.conditions).toContainEqual(expect.objectContaining({ message: 'still too much' }));
    const resources = '{"limits":{"cpu":"18","memory":"128Mi"},"requests":{"cpu":"9","memory":"64Mi"}}';
    expect(resizeEvents()).toEqual([
      `Resize${shown}: Pod resize ${reason}: {"containers":[{"name":"main","resources":${resources}}],` +
        '"generation":2,"error":"too much"}',
    ]);
    await grant({ ...waiting, metadata: { ...waiting.metadata, generation: 1 } });
    expect(conditions(node.status('a'))).toEqual([]);
    expect(resizeEvents()).toHaveLength(1);
  });
});

describe('a pod that is rejected', () => {
  const failure = { reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu" };

  test('fails at once, with nothing created and a single event', async () => {
    await node.work(podOf('a'), { work: 'reject', reason: 'OutOfcpu', failure });
    expect(done()).toEqual([]);
    expect(node.status('a')).toEqual({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: "Pod was rejected: Node didn't have enough resource: cpu",
      conditions: [],
      qosClass: 'BestEffort',
      startTime: expect.any(String),
    });
    expect(node.state('a')).toMatchObject({ state: 'terminated' });
    const before = node.status('a');
    node.kill();
    await node.start();
    await node.work(podOf('a'), { work: 'reject', reason: 'OutOfcpu', failure });
    expect(node.status('a')).toEqual(before);
    expect(node.events('a')).toEqual(["OutOfcpu: Node didn't have enough resource: cpu"]);
    await node.work(podOf('a'), { work: 'kill', reason: 'the pod is no longer in its source', failure });
    expect(node.state('a')).toMatchObject({ state: 'finished' });
  });

  test('after it was admitted is stopped, and has failed', async () => {
    await node.work(podOf('a'));
    done();
    const preempted = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };
    await node.work(podOf('a'), { work: 'evict', reason: 'Preempting', failure: preempted });
    expect(done().slice(0, 2)).toEqual(['StopContainer c2 30', 'StopPodSandbox s1']);
    expect(node.state('a')).toMatchObject({ state: 'terminated' });
    expect(node.status('a')).toMatchObject({ phase: 'Failed', ...preempted });
    expect(node.status('a')?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'TerminationByKubelet',
        message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
      }),
    );
    expect(node.events('a')).toContain('Preempting: Preempted in order to admit critical pod');
  });

  test('because the node lacks something has failed with what the node says of it', async () => {
    await node.work(podOf('a'));
    done();
    const annotations = { starved_resource: 'memory' };
    const failure = {
      reason: 'Evicted',
      message: 'The node was low on resource: memory. ',
      disrupts: true,
      annotations,
    };
    await node.work(podOf('a'), { work: 'evict', reason: 'Evicted', failure, graceSeconds: 1 });
    // The least that a container gets.
    expect(done().slice(0, 2)).toEqual(['StopContainer c2 2', 'StopPodSandbox s1']);
    const status = node.status('a');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: failure.message });
    expect(status).not.toHaveProperty('annotations');
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'TerminationByKubelet', message: failure.message }),
    );
    expect(node.events('a')).toContain('Evicted: The node was low on resource: memory. ');
  });

  test('because the machine shuts down has its share of time, and a static pod begins anew after the boot', async () => {
    await node.work(podOf('a'));
    done();
    const failure = { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' };
    await node.work(podOf('a'), { work: 'evict', reason: 'Terminated', failure, graceSeconds: 7 });
    expect(done()).toEqual(['StopContainer c2 7', 'StopPodSandbox s1']);
    expect(node.status('a')).toMatchObject({ phase: 'Failed', ...failure });
    expect(node.status('a')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'TerminationByKubelet', message: failure.message }),
    );
    expect(node.events('a').filter((text) => text.startsWith('Terminated'))).toEqual([]);
    node.kill();
    await node.start();
    expect(node.state('a')).toMatchObject({ state: 'terminated' });
    await node.work(podOf('a'));
    expect(node.state('a')).toMatchObject({ state: 'syncing' });
    expect(node.status('a')).toMatchObject({ phase: 'Running' });
    expect(done()).toContain('CreateContainer main/1');
  });
});
