import { beforeEach, describe, expect, test } from '@jest/globals';
import { type ContainerStatus, type PodStatus, type PodWork, podSchema } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { Metrics } from '@kubus/service-kit';
import { PassMeasure } from '../src/pass-measure.ts';
import { WorkerMetrics } from '../src/worker-metrics.ts';

const pod = podSchema.parse({
  metadata: { name: 'a', namespace: 'n', uid: 'u' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});
const work: PodWork = {
  ...{ ref: { name: 'a', namespace: 'n', uid: 'u' }, pod, source: 'api', work: 'sync', reason: 'desired' },
  ...{ worker: 'pod-workers-0', firstSeen: '2024-01-01T00:00:00Z' },
};

let clock: ManualClock;
let metrics: WorkerMetrics;

beforeEach(() => {
  clock = new ManualClock();
  metrics = new WorkerMetrics(clock);
});

/** What is shown under a name, as lines; of a histogram how many values, and of a counter what is not 0. */
async function shown(name: string): Promise<string[]> {
  const all = new Metrics({});
  metrics.show(all);
  const family = (await all.families()).find((one) => one.name === `kubelet_${name}`);
  if (family === undefined) throw new Error(`there is no ${name}`);
  const found =
    family.type === 'histogram'
      ? family.series.map(({ labels, count }) => ({ labels, value: count }))
      : family.samples.filter(({ value }) => value !== 0);
  return found.map(({ labels, value }) => [...Object.values(labels), value].join(' '));
}

function statusOf(name: string, state: ContainerStatus['state']): ContainerStatus {
  return { name, state, ready: false, restartCount: 0, image: 'i', imageID: 'i' };
}

describe('passes', () => {
  test('are counted by what they do', async () => {
    const measure = new PassMeasure({ metrics, clock }, true);
    const pass = (state: 'syncing' | 'terminating' | 'terminated') =>
      measure.pass(state, work, () => clock.advance(2_000));
    measure.given(work);
    await pass('syncing');
    await pass('syncing');
    measure.given(work);
    await pass('syncing');
    await pass('syncing');
    await pass('terminating');
    await pass('terminated');
    expect(await shown('pod_worker_duration_seconds')).toEqual([
      'create 1',
      'sync 2',
      'update 1',
      'kill 1',
      'terminated 1',
    ]);
    expect(await shown('containers_per_pod_count')).toEqual(['1']);
    expect(await shown('restarted_pods_total')).toEqual([]);
  });

  test('over a pod that was there before are none that make it, and failed ones count too', async () => {
    const measure = new PassMeasure({ metrics, clock }, false);
    measure.given(work);
    await expect(measure.pass('syncing', work, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await shown('pod_worker_duration_seconds')).toEqual(['sync 1']);
    expect(await shown('containers_per_pod_count')).toEqual(['0']);
  });

  test('of a pod that nobody told of, and of one that comes again', async () => {
    const measure = new PassMeasure({ metrics, clock }, true);
    measure.given({ ...work, source: 'runtime' });
    measure.given({ ...work, source: 'runtime' });
    measure.begunAnew({ ...work, source: 'file' });
    expect(await shown('orphaned_runtime_pods_total')).toEqual(['1']);
    expect(await shown('restarted_pods_total')).toEqual(['true 1']);
  });
});

describe('a status', () => {
  test('that first says that a container has ended counts its end once', async () => {
    const running: PodStatus = {
      phase: 'Running',
      containerStatuses: [statusOf('c', { running: {} })],
      initContainerStatuses: [statusOf('i', { terminated: { exitCode: 0, reason: 'Completed' } })],
    };
    const ended: PodStatus = {
      ...running,
      containerStatuses: [statusOf('c', { terminated: { exitCode: 137, reason: 'OOMKilled' } })],
    };
    metrics.told(undefined, running, work.firstSeen);
    metrics.told(running, ended, work.firstSeen);
    metrics.told(ended, ended, work.firstSeen);
    expect(await shown('terminated_containers_total')).toEqual([
      'init_container 0 Completed 1',
      'container 137 OOMKilled 1',
    ]);
    expect(await shown('pod_start_duration_seconds')).toEqual(['1']);
  });

  test('of a pod that was running already is no start', async () => {
    metrics.told({ phase: 'Running' }, { phase: 'Running' }, work.firstSeen);
    expect(await shown('pod_start_duration_seconds')).toEqual(['0']);
    metrics.told({ phase: 'Pending' }, { phase: 'Running' }, work.firstSeen);
    expect(await shown('pod_start_duration_seconds')).toEqual(['1']);
  });
});

test('what happens to containers and images is counted by the reference’s labels', async () => {
  metrics.container('sidecar');
  metrics.container('regular');
  metrics.containerFailed('ephemeral', 'ErrImagePull');
  metrics.image('IfNotPresent', true, false);
  metrics.image('Always', undefined, true);
  await metrics.cgroup('create', () => clock.advance(1));
  expect(await shown('started_containers_total')).toEqual(['init_container 1', 'container 1']);
  expect(await shown('started_containers_errors_total')).toEqual(['ephemeral_container ErrImagePull 1']);
  expect(await shown('image_manager_ensure_image_requests_total')).toEqual([
    'ifnotpresent true false 1',
    'always unknown true 1',
  ]);
  expect(await shown('cgroup_manager_duration_seconds')).toEqual(['create 1']);
});
