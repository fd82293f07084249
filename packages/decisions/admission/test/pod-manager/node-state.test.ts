import type { Pod, PodWorkerReport, WorkerState } from '@kubus/contracts';
import { pod as makePod, runtime } from '@kubus/pod-lifecycle/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NodeState, type WorkChange, ownerOf } from '../../src/index.ts';
import { ids, node } from './small-node.ts';

const NOW = '2030-01-01T00:00:00Z';
let state: NodeState;

beforeEach(() => {
  state = new NodeState({ node, ids });
  state.shared({ instances: ['pod-workers-0'], term: 0 });
  state.configured(['file']);
  state.runtimeFeatures({ strictSupplementalGroups: false });
});

const pod = (uid: string, name = uid): Pod => makePod({}, { uid, name });
const want = (one: Pod) => state.desired('file', { operation: 'ADD', source: 'file', pod: one });
const report = (uid: string, workerState: WorkerState, name = uid): PodWorkerReport => ({
  ref: { namespace: 'default', name, uid },
  state: workerState,
  since: NOW,
});
const said = (changes: WorkChange[]) => changes.map(({ uid, work }) => `${uid} ${work?.work ?? 'gone'}`);

function everythingKnown() {
  state.sourceComplete('file');
  state.runtimeComplete();
}

describe('NodeState', () => {
  test('decides nothing before the worker instances are known', () => {
    const unshared = new NodeState({ node, ids });
    unshared.configured(['file']);
    unshared.runtimeFeatures({ strictSupplementalGroups: false });
    unshared.runtimeComplete();
    unshared.desired('file', { operation: 'ADD', source: 'file', pod: pod('a') });
    expect(unshared.decideAll(NOW)).toEqual([]);
    unshared.shared({ instances: ['pod-workers-0'], term: 1 });
    expect(said(unshared.decideAll(NOW))).toEqual(['a sync']);
  });

  test('syncs a desired pod once the runtime’s pods are known, even before all sources are complete', () => {
    state.configured(['file', 'http']);
    want(pod('a'));
    expect(state.decide('a', NOW)).toEqual([]);
    state.runtimeComplete();
    expect(said(state.decide('a', NOW))).toEqual(['a sync']);
    expect(state.decide('a', NOW)).toEqual([]);
  });

  test('publishes a changed pod again with the time at which it was first seen', () => {
    everythingKnown();
    want(pod('a'));
    state.decide('a', NOW);
    want(makePod({ restartPolicy: 'Never' }, { uid: 'a', name: 'a' }));
    const [change] = state.decide('a', '2031-01-01T00:00:00Z');
    expect(change?.work).toMatchObject({ work: 'sync', firstSeen: NOW, pod: { spec: { restartPolicy: 'Never' } } });
  });

  test('kills a removed pod, and removes its work when its worker has finished', () => {
    everythingKnown();
    want(pod('a'));
    state.decide('a', NOW);
    state.undesired('file', 'a');
    expect(said(state.decide('a', NOW))).toEqual(['a kill']);
    state.worker('a', report('a', 'terminating'));
    expect(said(state.decide('a', NOW))).toEqual([]);
    state.worker('a', report('a', 'finished'));
    expect(said(state.decide('a', NOW))).toEqual(['a gone']);
  });

  test('assigns each pod to its new owner under the greater term when the share changes', () => {
    state = new NodeState({ ids, node: { ...node, allocatable: { ...node.allocatable, pods: '100' } } });
    state.shared({ instances: ['pod-workers-0'], term: 0 });
    state.configured(['file']);
    state.runtimeFeatures({ strictSupplementalGroups: false });
    state.runtimeComplete();
    const uids = Array.from({ length: 20 }, (_, index) => `uid-${index}`);
    for (const uid of uids) want(pod(uid));
    state.decideAll(NOW);
    const share = { instances: ['pod-workers-0', 'pod-workers-1'], term: 7 };
    state.shared(share);
    const changes = state.decideAll(NOW);
    for (const { uid, work } of changes) {
      expect(work).toMatchObject({ work: 'sync', worker: ownerOf(uid, share.instances), term: 7 });
    }
    const moved = changes.filter(({ work }) => work?.worker === 'pod-workers-1');
    expect([changes.length, moved.length > 0]).toEqual([uids.length, true]);
    everythingKnown();
    const uid = moved[0]?.uid ?? '';
    state.undesired('file', uid);
    state.decideAll(NOW);
    state.shared({ instances: ['pod-workers-0'], term: 9 });
    const work = state.decideAll(NOW).find((change) => change.uid === uid)?.work;
    expect(work).toMatchObject({ work: 'kill', worker: 'pod-workers-0', term: 9 });
  });

  test('kills nothing before every source is complete', () => {
    state.configured(['file', 'http']);
    state.sourceComplete('file');
    state.runtimeComplete();
    state.runtime('old', { ...runtime([]), ref: { namespace: 'default', name: 'old', uid: 'old' } });
    state.worker('w', report('w', 'syncing'));
    expect(state.decideAll(NOW)).toEqual([]);
    state.sourceComplete('http');
    expect(said(state.decideAll(NOW)).sort()).toEqual(['old kill', 'w kill']);
  });

  test('kills a pod that only the runtime has, once all pods of the runtime are known', () => {
    state.sourceComplete('file');
    state.runtime('old', runtime([]));
    expect(state.decideAll(NOW)).toEqual([]);
    state.runtimeComplete();
    const [change] = state.decideAll(NOW);
    expect(change?.work).toMatchObject({
      work: 'kill',
      source: 'runtime',
      reason: 'the pod is not desired by any source',
    });
    expect(change?.work?.pod).toBeUndefined();
  });

  test('ends a UID first when it is desired again while it is being ended', () => {
    everythingKnown();
    want(pod('a'));
    state.decide('a', NOW);
    state.undesired('file', 'a');
    state.decide('a', NOW);
    want(pod('a'));
    state.worker('a', report('a', 'terminating'));
    expect(said(state.decide('a', NOW))).toEqual([]);
    state.worker('a', report('a', 'finished'));
    expect(said(state.decide('a', NOW))).toEqual(['a sync']);
  });

  test('lets a static pod wait for the end of an older one of the same name', () => {
    everythingKnown();
    want(pod('v1', 'web'));
    state.decide('v1', NOW);
    state.undesired('file', 'v1');
    want(pod('v2', 'web'));
    expect(said([...state.decide('v1', NOW), ...state.decide('v2', NOW)])).toEqual(['v1 kill']);
    state.worker('v1', report('v1', 'finished', 'web'));
    expect(said(state.decide('v1', NOW))).toEqual(['v1 gone', 'v2 sync']);
  });

  test('neither starts nor ends a mirror pod', () => {
    everythingKnown();
    want(pod('static', 'web'));
    const mirrored = pod('mirror', 'web');
    const annotations = { 'kubernetes.io/config.mirror': 'static' };
    const mirror = { ...mirrored, metadata: { ...mirrored.metadata, annotations } };
    const tell = (one: Pod) => state.desired('api', { operation: 'ADD', source: 'api', pod: one });
    tell(mirror);
    expect(said(state.decideAll(NOW))).toEqual(['static sync']);
    state.undesired('api', 'mirror');
    expect(said(state.decideAll(NOW))).toEqual([]);
    // Even if it was another pod before.
    tell(pod('other'));
    expect(said(state.decide('other', NOW))).toEqual(['other sync']);
    tell({ ...pod('other'), metadata: { ...pod('other').metadata, annotations } });
    expect(said(state.decide('other', NOW))).toEqual(['other kill']);
  });

  test('continues to end pods after a restart', () => {
    everythingKnown();
    state.worker('a', report('a', 'terminating'));
    expect(said(state.decideAll(NOW))).toEqual(['a kill']);
    state.worker('a', report('a', 'finished'));
    expect(said(state.decideAll(NOW))).toEqual(['a gone']);
  });

  test('ends with the work that the current state requires, whatever the order of the facts', () => {
    const uid = fc.constantFrom('a', 'b', 'c');
    const news = fc.oneof(
      fc.record({ want: uid }),
      fc.record({ drop: uid }),
      fc.record({ worker: uid, to: fc.constantFrom<WorkerState>('syncing', 'terminating', 'terminated', 'finished') }),
      fc.record({ runtime: uid, there: fc.boolean() }),
      fc.constant('complete' as const),
    );
    fc.assert(
      fc.property(fc.array(news, { maxLength: 30 }), (all) => {
        const one = new NodeState({ node, ids });
        one.shared({ instances: ['w'], term: 0 });
        one.configured(['file']);
        one.runtimeFeatures({ strictSupplementalGroups: false });
        const wanted = new Set<string>();
        const killed = new Set<string>();
        const check = (changes: WorkChange[]) => {
          for (const { uid: changed, work } of changes) {
            // A desired pod is never killed, unless it was being ended before it was desired.
            if (work?.work === 'kill' && !killed.has(changed)) expect(wanted.has(changed)).toBe(false);
            if (work?.work === 'kill') killed.add(changed);
            else killed.delete(changed);
            if (work?.work === 'sync') expect(wanted.has(changed)).toBe(true);
          }
        };
        for (const each of all) {
          if (each === 'complete') {
            one.sourceComplete('file');
            one.runtimeComplete();
            check(one.decideAll(NOW));
          } else if ('want' in each) {
            wanted.add(each.want);
            one.desired('file', { operation: 'ADD', source: 'file', pod: pod(each.want) });
            check(one.decide(each.want, NOW));
          } else if ('drop' in each) {
            wanted.delete(each.drop);
            one.undesired('file', each.drop);
            check(one.decide(each.drop, NOW));
          } else if ('worker' in each) {
            one.worker(each.worker, report(each.worker, each.to));
            check(one.decide(each.worker, NOW));
          } else {
            one.runtime(each.runtime, each.there ? runtime([]) : undefined);
            check(one.decide(each.runtime, NOW));
          }
        }
        // A further decision changes nothing: decisions depend on the state alone.
        one.decideAll(NOW);
        expect(one.decideAll(NOW)).toEqual([]);
      }),
    );
  });
});
