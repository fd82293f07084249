import { describe, expect, test } from '@jest/globals';
import {
  CONFIG_MIRROR,
  type PodStatus,
  type PodWork,
  type RuntimePod,
  type WorkerState,
  podSchema,
  podStatusSchema,
} from '@kubus/contracts';
import { type PodsNow, podGauges } from '../src/index.ts';

const pod = (name: string, more: { annotations?: Record<string, string>; spec?: object } = {}) =>
  podSchema.parse({
    metadata: { name, namespace: 'default', uid: name, annotations: more.annotations },
    spec: { containers: [{ name: 'c', image: 'i' }], ...more.spec },
  });
const ref = (name: string) => ({ namespace: 'default', name, uid: name });

function work(name: string, source: PodWork['source']): PodWork {
  return { ref: ref(name), source, work: 'sync', reason: 'desired', worker: 'pod-workers-0', firstSeen: '' };
}

function runtimePod(name: string, ready: readonly boolean[], states: readonly string[]): RuntimePod {
  return {
    ref: ref(name),
    sandboxes: ready.map((one) => ({ ready: one })),
    containers: states.map((state) => ({ state })),
  } as unknown as RuntimePod;
}

const nobody: PodsNow = { desired: [], works: [], runtime: [], worker: () => undefined, status: () => undefined };

/** The samples of a family as lines, without those that are 0. */
function shown(now: Partial<PodsNow>, name: string): string[] {
  const family = podGauges({ ...nobody, ...now }).find((one) => one.name === `kubelet_${name}`);
  if (family === undefined || family.type === 'histogram') throw new Error(`there is no ${name}`);
  return family.samples
    .filter(({ value }) => value > 0)
    .map(({ labels, value }) => [...Object.values(labels), value].join(' '));
}

describe('the gauges of pods', () => {
  test('count what is running according to the runtime', () => {
    const runtime = [
      runtimePod('a', [true, false], ['running', 'exited']),
      runtimePod('b', [false], ['exited']),
      runtimePod('c', [true], ['running']),
    ];
    expect(shown({ runtime }, 'running_pods')).toEqual(['2']);
    expect(shown({ runtime }, 'running_containers')).toEqual(['running 2', 'exited 2']);
  });

  test('count desired pods, and those that are still active', () => {
    const mirror = pod('static', { annotations: { [CONFIG_MIRROR]: 'x' } });
    const debugged = pod('debugged', { spec: { ephemeralContainers: [{ name: 'e', image: 'i' }] } });
    const now: Partial<PodsNow> = {
      desired: [
        { source: 'file', pod: pod('static') },
        { source: 'api', pod: mirror },
        { source: 'api', pod: debugged },
        { source: 'api', pod: pod('over') },
        { source: 'api', pod: pod('gone') },
      ],
      worker: (uid) => (uid === 'gone' ? 'terminated' : 'syncing'),
      status: (uid) => (uid === 'over' ? podStatusSchema.parse({ phase: 'Succeeded' }) : undefined),
    };
    expect(shown(now, 'desired_pods')).toEqual([' 3', 'true 1']);
    expect(shown(now, 'active_pods')).toEqual([' 1', 'true 1']);
    expect(shown(now, 'mirror_pods')).toEqual(['1']);
    expect(shown(now, 'managed_ephemeral_containers')).toEqual(['1']);
  });

  test('count a pod with a final phase and a running container as active', () => {
    const failed: PodStatus = podStatusSchema.parse({
      phase: 'Failed',
      containerStatuses: [
        {
          ...{ name: 'c', ready: true, restartCount: 0, image: 'i', imageID: 'i' },
          state: { running: { startedAt: '2024-01-01T00:00:00Z' } },
        },
      ],
    });
    const now: Partial<PodsNow> = { desired: [{ source: 'api', pod: pod('a') }], status: () => failed };
    expect(shown(now, 'active_pods')).toEqual([' 1']);
  });

  test('count pods by the state of their worker', () => {
    const states: Record<string, WorkerState> = {
      a: 'syncing',
      b: 'terminating',
      removed: 'terminating',
      unknown: 'terminated',
      over: 'finished',
    };
    const now: Partial<PodsNow> = {
      desired: [
        { source: 'api', pod: pod('a') },
        { source: 'file', pod: pod('b') },
      ],
      works: [
        work('a', 'api'),
        work('b', 'file'),
        work('removed', 'api'),
        work('unknown', 'runtime'),
        work('over', 'api'),
      ],
      worker: (uid) => states[uid],
    };
    expect(shown(now, 'working_pods').sort()).toEqual([
      'sync desired  1',
      'terminated runtime_only unknown 1',
      'terminating desired true 1',
      'terminating orphan  1',
    ]);
    const [family] = podGauges(nobody).filter(({ name }) => name === 'kubelet_working_pods');
    expect(family?.type === 'gauge' && family.samples.length).toBe(15);
  });

  test('count resizes that are deferred and that are in progress', () => {
    const status = podStatusSchema.parse({
      conditions: [
        { type: 'PodResizePending', status: 'True', reason: 'Deferred' },
        { type: 'PodResizeInProgress', status: 'True' },
      ],
    });
    const now: Partial<PodsNow> = { desired: [{ source: 'api', pod: pod('a') }], status: () => status };
    expect(shown(now, 'pod_pending_resizes')).toEqual(['deferred 1']);
    expect(shown(now, 'pod_in_progress_resizes')).toEqual(['1']);
  });
});
