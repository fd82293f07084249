import { describe, expect, test } from '@jest/globals';
import type { Pod, PodStatus, PodWorkerReport } from '@kubus/contracts';
import { compareUrgency, podNeed } from '../../src/index.ts';
import { type Urgency, urgencies } from '../../src/api-writes/urgency.ts';
import { condition, container, pod } from './pods.ts';

const NOW = '2030-01-01T12:00:00Z';
const START = '2030-01-01T11:00:00Z';
const deleting = { deletionTimestamp: NOW, deletionGracePeriodSeconds: 30 };
const need = (api: Pod, status?: PodStatus, worker?: Pick<PodWorkerReport, 'state' | 'cleaned'>) =>
  podNeed({ api, status, worker, now: NOW });

test('nothing is written for a pod without a published status', () => {
  expect(need(pod({ status: { phase: 'Pending' } }))).toBeUndefined();
});

describe('the urgency of a status', () => {
  const begun: PodStatus = { phase: 'Pending', startTime: START };
  const unready = condition('Ready', 'False', { lastTransitionTime: START });
  const lost = condition('Ready', 'False', { lastTransitionTime: '2030-01-01T11:30:00Z' });
  const ready = condition('Ready', 'True');
  test.each<[Urgency, string, PodStatus, PodStatus, Partial<Pod['metadata']>]>([
    ['deletion', 'the pod has ended and is being deleted', begun, { phase: 'Failed' }, deleting],
    ['firstReady', 'the pod becomes ready', begun, { phase: 'Running', conditions: [ready] }, {}],
    [
      'firstReady',
      'the pod becomes ready after it was not ready from the start',
      { ...begun, conditions: [unready] },
      { conditions: [ready] },
      {},
    ],
    ['terminal', 'the pod has ended', begun, { phase: 'Failed' }, {}],
    ['ready', 'the pod becomes ready again', { ...begun, conditions: [lost] }, { conditions: [ready] }, {}],
    ['ready', 'the pod is no longer ready', { ...begun, conditions: [ready] }, { conditions: [lost] }, {}],
    ['other', 'the pod is running', begun, { phase: 'Running', conditions: [unready] }, {}],
    ['other', 'the pod is being deleted and still running', begun, { phase: 'Running', message: 'm' }, deleting],
  ])('is %s when %s', (urgency, _, status, next, metadata) => {
    expect(need(pod({ status, metadata }), next, { state: 'terminated' })).toMatchObject({ kind: 'write', urgency });
  });

  test('is ordered', () => {
    expect([...urgencies].reverse().sort(compareUrgency)).toEqual(urgencies);
  });
});

describe('a pod is finally deleted', () => {
  const over = (metadata: object = deleting, phase = 'Failed') => pod({ status: { phase }, metadata });
  const cleaned = { state: 'terminated', cleaned: true } as const;
  test.each<[string, Pod, Parameters<typeof need>[2], boolean]>([
    ['when nothing of it is left', over(), cleaned, true],
    ['when its worker has finished', over(), { state: 'finished' }, true],
    ['not while something of it is left', over(), { state: 'terminated' }, false],
    ['not while it is being ended', over(), { state: 'terminating' }, false],
    ['not when its worker is unknown', over(), undefined, false],
    ['not before it has a terminal phase in the API server', over(deleting, 'Running'), cleaned, false],
    ['not when its deletion was not requested', over({}), cleaned, false],
    ['not again when a finalizer keeps it', over({ ...deleting, deletionGracePeriodSeconds: 0 }), cleaned, false],
    [
      'never when it is a mirror pod',
      over({ ...deleting, annotations: { 'kubernetes.io/config.mirror': 's' } }),
      cleaned,
      false,
    ],
  ])('%s', (_, api, worker, removed) => {
    expect(need(api, undefined, worker)?.kind === 'delete').toBe(removed);
  });

  test('with its last status, where that has changed', () => {
    expect(need(over(), { phase: 'Failed' }, cleaned)).toEqual({ kind: 'delete', patch: undefined });
    expect(need(over(), { phase: 'Failed', reason: 'R' }, cleaned)).toMatchObject({
      kind: 'delete',
      patch: { status: { reason: 'R' } },
    });
  });
});

describe('a container that has ended permanently', () => {
  const spec = { restartPolicy: 'Never' };
  const ended: PodStatus = { containerStatuses: [container('c', { terminated: { exitCode: 0 } })] };
  const alive: PodStatus = { containerStatuses: [container('c', { running: {} })] };

  test('is never shown as running again', () => {
    expect(need(pod({ status: ended, spec }), alive)).toEqual({ kind: 'refuse', container: 'c' });
  });

  test('does not prevent the deletion of the pod', () => {
    const api = pod({ status: { ...ended, phase: 'Succeeded' }, spec, metadata: deleting });
    expect(need(api, alive, { state: 'finished' })).toEqual({ kind: 'delete', patch: undefined });
  });

  test.each<[string, Partial<Pod['spec']>, Partial<Pod['metadata']>]>([
    ['may run again when its policy says so', {}, {}],
    ['may run again when its static pod does', spec, { annotations: { 'kubernetes.io/config.mirror': 's' } }],
    [
      'may run again when all containers may be restarted',
      {
        ...spec,
        containers: [
          {
            name: 'c',
            restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [9] } }],
          },
        ],
      },
      {},
    ],
  ])('%s', (_, change, metadata) => {
    expect(need(pod({ status: ended, spec: change, metadata }), alive)).toMatchObject({ kind: 'write' });
  });
});
