import { beforeEach, expect, test } from '@jest/globals';
import type { Pod, SourceName } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { NodeState, type WorkChange } from '../../src/index.ts';
import { ids, node } from './small-node.ts';

const NOW = '2030-01-01T00:00:00Z';
const NODE = { labels: { disk: 'ssd' }, taints: [], allocatable: {} };
let state: NodeState;

const want = (uid: string, source: SourceName = 'api', spec: Partial<Pod['spec']> = {}) => {
  state.desired(source, { operation: 'ADD', source, pod: makePod(spec, { uid, name: uid }) });
  return decided(state.decide(uid, NOW));
};
const decided = (changes: WorkChange[]) => {
  return changes.map(({ uid, work }) => `${uid} ${work?.failure?.reason ?? work?.work ?? 'gone'}`);
};

beforeEach(() => {
  state = new NodeState({ node, ids, awaitsNode: true });
  state.shared({ instances: ['pod-workers-0'], term: 0 });
  state.configured(['file', 'api']);
  state.runtimeFeatures({ strictSupplementalGroups: false });
  state.runtimeComplete();
});

test('pods of the API server wait for the Node object, static pods do not', () => {
  expect(want('a')).toEqual([]);
  expect(want('s', 'file')).toEqual(['s sync']);
  expect(state.node(NODE)).toBe(true);
  expect(decided(state.decideAll(NOW))).toEqual(['a sync']);
});

test('an unchanged Node object causes no decisions', () => {
  state.node(NODE);
  expect(state.node({ ...NODE })).toBe(false);
  expect(state.node({ ...NODE, labels: {} })).toBe(true);
});

test('the Node object’s labels, taints and resources decide, and admitted pods stay admitted', () => {
  const spec = { nodeSelector: { disk: 'ssd' } };
  state.node(NODE);
  expect(want('a', 'api', spec)).toEqual(['a sync']);
  state.node({ ...NODE, labels: { disk: 'hdd' } });
  expect(want('b', 'api', spec)).toEqual(['b NodeAffinity']);
  state.node({ ...NODE, taints: [{ key: 'k', effect: 'NoExecute' }] });
  expect(want('c')).toEqual(['c TaintToleration']);
  state.node({ ...NODE, allocatable: { pods: '1' } });
  expect(want('d')).toEqual(['d OutOfpods']);
  expect(decided(state.decideAll(NOW))).toEqual([]);
  expect(state.work('a')?.work).toBe('sync');
});
