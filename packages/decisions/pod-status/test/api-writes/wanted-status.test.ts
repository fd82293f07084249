import { describe, expect, test } from '@jest/globals';
import type { PodStatus } from '@kubus/contracts';
import { type WantedInput, wantedStatus } from '../../src/index.ts';
import { condition, pod } from './pods.ts';

const NOW = '2030-01-01T12:00:00Z';
const EARLIER = '2030-01-01T10:00:00Z';
const mirror = { annotations: { 'kubernetes.io/config.mirror': 's1' } };

function wanted(before: PodStatus, node: PodStatus, change: Partial<WantedInput> = {}): PodStatus {
  return wantedStatus({ api: pod({ status: before }), node, mayRun: false, now: NOW, ...change });
}

describe('the written phase', () => {
  const failed = { phase: 'Failed', reason: 'Evicted', message: 'm' };
  test.each<[string, PodStatus, PodStatus, boolean, PodStatus]>([
    [
      'is the node’s, with its reason',
      { phase: 'Running', reason: 'old' },
      { phase: 'Pending' },
      true,
      { phase: 'Pending' },
    ],
    ['is terminal when nothing is running', { phase: 'Running' }, failed, false, failed],
    [
      'is withheld while containers may be running',
      { phase: 'Running', reason: 'r' },
      failed,
      true,
      { phase: 'Running', reason: 'r' },
    ],
    ['stays terminal', failed, { phase: 'Running' }, true, failed],
    ['may change to another terminal phase', { phase: 'Succeeded' }, failed, true, failed],
  ])('%s', (_, before, node, mayRun, expected) => {
    const { phase, reason, message } = wanted(before, node, { mayRun });
    expect({ phase, reason, message }).toEqual({ reason: undefined, message: undefined, ...expected });
  });

  test('of a mirror pod follows its restarted static pod', () => {
    const api = pod({ status: { phase: 'Succeeded' }, metadata: mirror });
    expect(wanted({}, { phase: 'Running' }, { api }).phase).toBe('Running');
  });
});

describe('written conditions', () => {
  const types = (status: PodStatus) => status.conditions?.map(({ type, status: is }) => `${type} ${is}`);

  test('of other components are kept, whatever the node knows about them', () => {
    const gate = condition('a.io/gate', 'True', { message: 'new' });
    const before = [gate, condition('Ready', 'False')];
    const node = [condition('Ready', 'True'), condition('a.io/gate', 'False'), condition('b.io/gone', 'True')];
    const { conditions } = wanted({ conditions: before }, { conditions: node });
    expect(conditions).toEqual([gate, condition('Ready', 'True')]);
  });

  test('of the node are added after existing ones, and removed when the node does not set them any more', () => {
    const before = [condition('PodResizePending', 'True'), condition('a.io/gate', 'True')];
    const node = [condition('Ready', 'False'), condition('PodScheduled', 'True')];
    expect(types(wanted({ conditions: before }, { conditions: node }))).toEqual([
      'a.io/gate True',
      'Ready False',
      'PodScheduled True',
    ]);
  });

  test.each([
    ['the node’s time when the status changes', 'False', '2030-01-01T11:00:00Z'],
    ['the later time when the status does not change', 'True', '2030-01-01T11:30:00Z'],
  ])('have %s', (_, status, expected) => {
    const before = [condition('Ready', status, { lastTransitionTime: '2030-01-01T11:30:00Z' })];
    const [ready] = wanted({ conditions: before }, { conditions: [condition('Ready', 'True')] }).conditions ?? [];
    expect(ready?.lastTransitionTime).toBe(expected);
  });

  test.each([
    ['Failed', 'PodFailed'],
    ['Succeeded', 'PodCompleted'],
  ])('of a pod that has %s are not ready', (phase, reason) => {
    const ready = [condition('Ready', 'True'), condition('ContainersReady', 'True'), condition('PodScheduled', 'True')];
    const { conditions } = wanted({ phase: 'Running', conditions: ready }, { phase, conditions: ready });
    const off = { status: 'False', reason, lastTransitionTime: NOW };
    expect(conditions).toEqual([
      condition('Ready', 'True', off),
      condition('ContainersReady', 'True', off),
      condition('PodScheduled', 'True'),
    ]);
  });

  test('include a disruption only together with the pod’s end', () => {
    const disrupted = {
      phase: 'Failed',
      conditions: [condition('DisruptionTarget', 'True', { reason: 'TerminationByKubelet' })],
    };
    expect(wanted({ phase: 'Running' }, disrupted, { mayRun: true }).conditions).toEqual([]);
    expect(wanted({ phase: 'Running' }, disrupted).conditions).toEqual([
      condition('DisruptionTarget', 'True', { reason: 'TerminationByKubelet', lastTransitionTime: NOW }),
    ]);
    // Later another component may have written it.
    const other = condition('DisruptionTarget', 'True', { reason: 'EvictionByEvictionAPI' });
    expect(wanted({ phase: 'Failed', conditions: [other] }, disrupted).conditions).toEqual([other]);
  });
});

test('fields that never change or never decrease are kept', () => {
  const before = { startTime: EARLIER, qosClass: 'Burstable', observedGeneration: 5, nominatedNodeName: 'n', later: 1 };
  const node = { startTime: NOW, qosClass: 'BestEffort', observedGeneration: 4, nominatedNodeName: 'other' };
  expect(wanted(before, node)).toMatchObject(before);
  expect(wanted({}, node)).toMatchObject({ startTime: NOW, qosClass: 'BestEffort', observedGeneration: 4 });
});
