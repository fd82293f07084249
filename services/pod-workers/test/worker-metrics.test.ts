import { beforeEach, describe, expect, test } from '@jest/globals';
import { type ContainerStatus, type PodStatus, type PodWork, podSchema } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { Metrics } from '@kubus/service-kit';
import { SyncMeasure } from '../src/worker/sync-measure.ts';
import { WorkerMetrics } from '../src/metrics/worker-metrics.ts';

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

/** The samples under a name, as lines; of a histogram the number of values, and of a counter those other than 0. */
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

describe('syncs', () => {
  test('are counted by their kind', async () => {
    const measure = new SyncMeasure({ metrics, clock }, true);
    const pass = (state: 'syncing' | 'terminating' | 'terminated') =>
      measure.measure(state, work, () => clock.advance(2_000));
    measure.onWork(work);
    await pass('syncing');
    await pass('syncing');
    measure.onWork(work);
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

  test('of an existing pod are not counted as creating it, and failed ones are counted too', async () => {
    const measure = new SyncMeasure({ metrics, clock }, false);
    measure.onWork(work);
    await expect(measure.measure('syncing', work, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await shown('pod_worker_duration_seconds')).toEqual(['sync 1']);
    expect(await shown('containers_per_pod_count')).toEqual(['0']);
  });

  test('count pods of no source, and pods that start again under their UID', async () => {
    const measure = new SyncMeasure({ metrics, clock }, true);
    measure.onWork({ ...work, source: 'runtime' });
    measure.onWork({ ...work, source: 'runtime' });
    measure.onRestart({ ...work, source: 'file' });
    expect(await shown('orphaned_runtime_pods_total')).toEqual(['1']);
    expect(await shown('restarted_pods_total')).toEqual(['true 1']);
  });
});

describe('a status', () => {
  test('that first shows an ended container counts its end once', async () => {
    const running: PodStatus = {
      phase: 'Running',
      containerStatuses: [statusOf('c', { running: {} })],
      initContainerStatuses: [statusOf('i', { terminated: { exitCode: 0, reason: 'Completed' } })],
    };
    const ended: PodStatus = {
      ...running,
      containerStatuses: [statusOf('c', { terminated: { exitCode: 137, reason: 'OOMKilled' } })],
    };
    metrics.statusPublished(undefined, running, work.firstSeen);
    metrics.statusPublished(running, ended, work.firstSeen);
    metrics.statusPublished(ended, ended, work.firstSeen);
    expect(await shown('terminated_containers_total')).toEqual([
      'init_container 0 Completed 1',
      'container 137 OOMKilled 1',
    ]);
    expect(await shown('pod_start_duration_seconds')).toEqual(['1']);
  });

  test('of a pod that was running already is not a start', async () => {
    metrics.statusPublished({ phase: 'Running' }, { phase: 'Running' }, work.firstSeen);
    expect(await shown('pod_start_duration_seconds')).toEqual(['0']);
    metrics.statusPublished({ phase: 'Pending' }, { phase: 'Running' }, work.firstSeen);
    expect(await shown('pod_start_duration_seconds')).toEqual(['1']);
  });
});

test('containers and images are counted by the reference’s labels', async () => {
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
