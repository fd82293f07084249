import type { Pod, PodStatus, PodWork, SourceName, WorkerState } from '@kubus/contracts';
import { pod as makePod, runtime } from '@kubus/pod-lifecycle/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Loop as BaseLoop, NOW } from './loop.ts';

/** On a node for few pods, with two sources. */
class Loop extends BaseLoop {
  constructor() {
    super({ sources: ['api', 'file'] });
  }

  want(pod: Pod, source: SourceName = 'api', now = NOW): string | undefined {
    this.desire(pod, source, now);
    return this.said(pod.metadata.uid);
  }

  status(uid: string, cpu: string): void {
    const status: PodStatus = {
      containerStatuses: [
        { name: 'c', ready: true, restartCount: 0, image: '', imageID: '', resources: { requests: { cpu } } },
      ],
    };
    this.state.status(uid, () => status);
    this.apply(this.state.decide(uid, NOW));
  }

  /** The work of a pod, and its reason or CPU. */
  said(uid: string): string | undefined {
    const work = this.works.get(uid);
    if (work === undefined) return undefined;
    const { failure, pendingResize, pod } = work;
    const cpu = pod?.spec.containers[0]?.resources?.requests?.['cpu'] ?? '0';
    const detail = failure?.reason ?? (pendingResize === undefined ? cpu : `${cpu}, ${pendingResize.reason}`);
    return `${work.work} ${detail}`;
  }
}

function asking(
  uid: string,
  cpu: string,
  metadata: Partial<Pod['metadata']> = {},
  spec: Partial<Pod['spec']> = {},
): Pod {
  const containers = [{ name: 'c', resources: { requests: { cpu } } }];
  return makePod({ containers, ...spec }, { uid, name: uid, ...metadata });
}

const STATIC = { annotations: { 'kubernetes.io/config.source': 'file' } };

let loop: Loop;

beforeEach(() => {
  loop = new Loop().known();
});

describe('a new pod', () => {
  test('is admitted while there is room, and rejected permanently when there is none', () => {
    expect(loop.want(asking('a', '1500m'))).toBe('sync 1500m');
    expect(loop.want(asking('b', '1'))).toBe('reject OutOfcpu');
    expect(loop.works.get('b')).toMatchObject({
      reason: 'OutOfcpu',
      failure: { message: "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000" },
    });
    loop.drop('a');
    loop.worker('a', 'finished');
    expect(loop.said('b')).toBe('reject OutOfcpu');
    expect(loop.want(asking('c', '2'))).toBe('sync 2');
  });

  test('waits until the runtime’s pods and features are known', () => {
    const early = loop.restart();
    expect(early.want(asking('a', '1'))).toBeUndefined();
    early.state.runtimeComplete();
    early.apply(early.state.decideAll(NOW));
    expect(early.said('a')).toBeUndefined();
    expect(early.known().said('a')).toBe('sync 1');
  });

  test('is admitted first if it was created first', () => {
    const early = loop.restart();
    early.want(asking('late', '2', { creationTimestamp: '2029-01-02T00:00:00Z' }));
    early.want(asking('soon', '2', { creationTimestamp: '2029-01-01T00:00:00Z' }));
    early.known();
    expect([early.said('soon'), early.said('late')]).toEqual(['sync 2', 'reject OutOfcpu']);
  });

  test.each([
    ['is being deleted', asking('b', '9', { deletionTimestamp: NOW })],
    ['has ended', { ...asking('b', '9'), status: { phase: 'Succeeded' } }],
  ])('that %s is not subject to admission', (_name, one) => {
    expect(loop.want(one)).toBe('sync 9');
  });

  test('has room after another pod has ended or is no longer desired', () => {
    for (const uid of ['a', 'b', 'c']) loop.want(asking(uid, '100m'));
    expect(loop.want(asking('d', '0'))).toBe('reject OutOfpods');
    loop.worker('a', 'terminated');
    expect(loop.want(asking('e', '0'))).toBe('sync 0');
    loop.drop('b');
    expect(loop.said('b')).toBe('kill 100m');
    expect(loop.want(asking('f', '0'))).toBe('sync 0');
    expect(loop.want(asking('g', '0'))).toBe('reject OutOfpods');
  });
});

describe('a verdict is kept', () => {
  test('after a restart, whatever pods the node has by then', () => {
    loop.want(asking('a', '1500m'));
    loop.want(asking('b', '1'));
    loop.restart();
    // The other pod's source has not published it yet; its resources stay reserved.
    expect(loop.want(asking('b', '1'))).toBe('reject OutOfcpu');
    loop.state.runtimeFeatures({ strictSupplementalGroups: false });
    loop.state.runtimeComplete();
    expect(loop.want(asking('c', '1'))).toBe('reject OutOfcpu');
    expect(loop.want(asking('a', '1500m'))).toBe('sync 1500m');
    expect(loop.known().said('a')).toBe('sync 1500m');
  });

  test('for a running pod without a record, which counts as admitted', () => {
    loop.state.runtime('a', runtime([]));
    expect(loop.want(asking('a', '9'))).toBe('sync 9');
    loop.restart();
    loop.state.worker('b', { ref: { namespace: 'default', name: 'b', uid: 'b' }, state: 'syncing', since: NOW });
    expect(loop.want(asking('b', '9'))).toBe('sync 9');
  });

  test('until nothing of the pod is left; then a new verdict is made for its UID', () => {
    loop.want(asking('a', '2'));
    loop.want(asking('b', '1'));
    loop.drop('b');
    expect(loop.said('b')).toBe('kill OutOfcpu');
    loop.worker('b', 'finished');
    expect([...loop.records.keys()]).toEqual(['a']);
    loop.drop('a');
    loop.worker('a', 'finished');
    expect(loop.records.size).toBe(0);
    expect(loop.want(asking('b', '1'))).toBe('sync 1');
  });

  test('even when the pod is desired again before it has ended', () => {
    loop.want(asking('a', '1'));
    loop.want(asking('b', '1'));
    loop.drop('a');
    expect(loop.want(asking('a', '2'))).toBe('kill 1');
    loop.worker('a', 'finished');
    expect(loop.said('a')).toBe('reject OutOfcpu');
  });

  test('until the pod is no longer desired; then its record is removed', () => {
    loop.want(asking('a', '1'));
    loop.restart().known();
    expect(loop.records.size).toBe(0);
  });
});

describe('a critical pod', () => {
  test('starts when the less important one has ended, and its resources stay reserved until then', () => {
    loop.want(asking('a', '2'));
    expect(loop.want(asking('vital', '1', STATIC), 'file')).toBeUndefined();
    expect(loop.said('a')).toBe('evict Preempting');
    expect(loop.want(asking('b', '1500m'))).toBe('reject OutOfcpu');
    loop.restart();
    loop.state.worker('a', { ref: { namespace: 'default', name: 'a', uid: 'a' }, state: 'terminating', since: NOW });
    loop.want(asking('a', '2'));
    loop.want(asking('vital', '1', STATIC), 'file');
    loop.works.delete('vital');
    loop.known();
    expect(loop.said('vital')).toBeUndefined();
    loop.worker('a', 'terminated');
    expect(loop.said('vital')).toBe('sync 1');
    expect(loop.said('a')).toBe('evict Preempting');
  });
});

describe('a resize', () => {
  const resized = (uid: string, cpu: string, generation = 2, spec: Partial<Pod['spec']> = {}) =>
    asking(uid, cpu, { generation }, spec);

  test('is granted when it fits, and published with the generation that requested it', () => {
    loop.want(asking('a', '1', { generation: 1 }));
    expect(loop.want(resized('a', '2'))).toBe('sync 2');
    expect(loop.works.get('a')).toMatchObject({ allocatedGeneration: 2 });
    expect(loop.records.get('a')).toMatchObject({ allocated: { generation: 2 } });
    expect(loop.works.get('a')).not.toHaveProperty('pendingResize');
  });

  test('waits for room, across a restart, until the request is withdrawn', () => {
    loop.want(asking('a', '1'));
    loop.want(asking('b', '1'));
    expect(loop.want(resized('a', '1500m'))).toBe('sync 1, OutOfcpu');
    expect(loop.works.get('a')?.pendingResize).toEqual({
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
      wanted: { generation: 2, containers: { c: { requests: { cpu: '1500m' } } } },
    });
    loop.restart();
    loop.want(resized('a', '1500m'));
    loop.want(asking('b', '1'));
    expect(loop.known().said('a')).toBe('sync 1, OutOfcpu');
    loop.drop('b');
    expect(loop.said('a')).toBe('sync 1500m');
    loop.want(asking('c', '500m'));
    expect(loop.want(resized('a', '2', 3))).toBe('sync 1500m, OutOfcpu');
    expect(loop.want(resized('a', '1500m', 4))).toBe('sync 1500m');
    expect(loop.works.get('a')).toMatchObject({ allocatedGeneration: 2 });
  });

  test.each([
    ['that is pending stays pending', [{ type: 'PodResizePending', status: 'True' }], 'sync 1, OutOfcpu'],
    ['that was granted stays granted', [{ type: 'PodResizeInProgress', status: 'True' }], 'sync 3'],
  ])('%s when the pod is taken over from another node agent', (_, conditions, said) => {
    const resources = { requests: { cpu: '1' } };
    const containerStatuses = [{ name: 'c', ready: true, restartCount: 0, image: '', imageID: '', resources }];
    loop.state.runtime('a', runtime([]));
    expect(loop.want({ ...resized('a', '3'), status: { conditions, containerStatuses } })).toBe(said);
  });

  test('to less frees resources when it is complete, for the pod that has waited longest', () => {
    loop.want(asking('a', '1500m'));
    loop.want(asking('b', '250m'));
    loop.want(asking('c', '250m'));
    loop.want(resized('b', '1'), 'api', '2030-01-01T00:01:00Z');
    expect(loop.want(resized('c', '1', 2, { priority: 5 }), 'api', '2030-01-01T00:02:00Z')).toBe('sync 250m, OutOfcpu');
    expect(loop.want(resized('a', '750m'))).toBe('sync 750m');
    expect(loop.want(resized('a', '750m', 3))).toBe('sync 750m');
    expect([loop.said('b'), loop.said('c')]).toEqual(['sync 250m, OutOfcpu', 'sync 250m, OutOfcpu']);
    loop.status('a', '1500m');
    expect(loop.said('c')).toBe('sync 250m, OutOfcpu');
    loop.status('a', '750m');
    expect([loop.said('b'), loop.said('c')]).toEqual(['sync 250m, OutOfcpu', 'sync 1']);
  });

  test('of a static pod is not possible', () => {
    loop.want(asking('a', '1', STATIC), 'file');
    expect(loop.want(asking('a', '500m', STATIC), 'file')).toBe('sync 1, Infeasible');
  });
});

test('no history allocates more than there is, or decides twice about a pod', () => {
  const uid = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const news = fc.oneof(
    { weight: 3, arbitrary: fc.record({ want: uid, cpu: fc.constantFrom('250m', '500m', '1', '2') }) },
    fc.record({ drop: uid }),
    fc.record({ worker: uid, to: fc.constantFrom<WorkerState>('syncing', 'terminating', 'terminated', 'finished') }),
    fc.record({ status: uid, cpu: fc.constantFrom('250m', '1') }),
    fc.constant('restart' as const),
  );
  const milli = (work: PodWork | undefined) => {
    const cpu = work?.pod?.spec.containers[0]?.resources?.requests?.['cpu'] ?? '0';
    return cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : 1000 * Number(cpu);
  };
  // A pod that is being ended is never run again; after its end its UID may be started again.
  const states: WorkerState[] = ['syncing', 'terminating', 'terminated', 'finished'];
  const mayFollow = (to: WorkerState, from: WorkerState | undefined) =>
    from === undefined || from === 'finished' || states.indexOf(to) >= states.indexOf(from);
  fc.assert(
    fc.property(fc.array(news, { maxLength: 40 }), (all) => {
      const one = new Loop().known();
      const wanted = new Map<string, Pod>();
      const verdicts = new Map<string, string>();
      const workers = new Map<string, WorkerState>();
      for (const each of all) {
        if (each === 'restart') {
          one.restart();
          for (const [key, state] of workers) {
            one.state.worker(key, { ref: { namespace: 'default', name: key, uid: key }, state, since: NOW });
          }
          for (const one_ of wanted.values()) one.want(one_);
          one.known();
        } else if ('want' in each) {
          const pod = asking(each.want, each.cpu);
          wanted.set(each.want, pod);
          one.want(pod);
        } else if ('drop' in each) {
          wanted.delete(each.drop);
          one.drop(each.drop);
        } else if ('worker' in each) {
          if (!one.works.has(each.worker)) continue;
          if (each.to === 'finished' && one.works.get(each.worker)?.work !== 'kill') continue;
          if (!mayFollow(each.to, workers.get(each.worker))) continue;
          workers.set(each.worker, each.to);
          one.worker(each.worker, each.to);
        } else {
          one.status(each.status, each.cpu);
        }
        const active = [...one.works].filter(([key, { work }]) => work === 'sync' && workers.get(key) !== 'terminated');
        expect(active.length).toBeLessThanOrEqual(3);
        expect(active.reduce((sum, [, work]) => sum + milli(work), 0)).toBeLessThanOrEqual(2000);
        for (const [key, { work }] of one.works) {
          if (work === 'kill') verdicts.delete(key);
          else expect(verdicts.get(key) ?? work).toBe(work);
          if (work !== 'kill') verdicts.set(key, work);
        }
        for (const key of verdicts.keys()) if (!one.works.has(key)) verdicts.delete(key);
      }
    }),
    {
      numRuns: 300,
      examples: [
        [[{ want: 'c', cpu: '250m' }, { drop: 'c' }, { want: 'a', cpu: '2' }, { want: 'c', cpu: '250m' }, 'restart']],
        [
          [
            { want: 'e', cpu: '250m' },
            { drop: 'e' },
            { worker: 'e', to: 'syncing' },
            { want: 'e', cpu: '250m' },
            { want: 'a', cpu: '2' },
            'restart',
          ],
        ],
      ],
    },
  );
});
