import { describe, expect, test } from '@jest/globals';
import type { Pod, PodStatus, PodWorkerReport } from '@kubus/contracts';
import { compareUrgency, podNeed } from '../src/index.ts';
import { type Urgency, urgencies } from '../src/urgency.ts';
import { condition, container, pod } from './pods.ts';

const NOW = '2030-01-01T12:00:00Z';
const START = '2030-01-01T11:00:00Z';
const deleting = { deletionTimestamp: NOW, deletionGracePeriodSeconds: 30 };
const need = (api: Pod, status?: PodStatus, worker?: Pick<PodWorkerReport, 'state' | 'cleaned'>) =>
  podNeed({ api, status, worker, now: NOW });

test('a pod of which the node has said nothing needs nothing', () => {
  expect(need(pod({ status: { phase: 'Pending' } }))).toBeUndefined();
});

describe('the urgency', () => {
  const begun: PodStatus = { phase: 'Pending', startTime: START };
  const unready = condition('Ready', 'False', { lastTransitionTime: START });
  const lost = condition('Ready', 'False', { lastTransitionTime: '2030-01-01T11:30:00Z' });
  const ready = condition('Ready', 'True');
  test.each<[Urgency, string, PodStatus, PodStatus, Partial<Pod['metadata']>]>([
    ['deletion', 'it is over and to be deleted', begun, { phase: 'Failed' }, deleting],
    ['firstReady', 'it serves', begun, { phase: 'Running', conditions: [ready] }, {}],
    [
      'firstReady',
      'it serves since it was unready from the start',
      { ...begun, conditions: [unready] },
      { conditions: [ready] },
      {},
    ],
    ['terminal', 'it is over', begun, { phase: 'Failed' }, {}],
    ['ready', 'it serves again', { ...begun, conditions: [lost] }, { conditions: [ready] }, {}],
    ['ready', 'it no longer serves', { ...begun, conditions: [ready] }, { conditions: [lost] }, {}],
    ['other', 'it runs', begun, { phase: 'Running', conditions: [unready] }, {}],
    ['other', 'it is to be deleted and still runs', begun, { phase: 'Running', message: 'm' }, deleting],
  ])('is %s when %s', (urgency, _, status, next, metadata) => {
    expect(need(pod({ status, metadata }), next, { state: 'terminated' })).toMatchObject({ kind: 'write', urgency });
  });

  test('is in this order', () => {
    expect([...urgencies].reverse().sort(compareUrgency)).toEqual(urgencies);
  });
});

describe('a pod is removed for good', () => {
  const over = (metadata: object = deleting, phase = 'Failed') => pod({ status: { phase }, metadata });
  const cleaned = { state: 'terminated', cleaned: true } as const;
  test.each<[string, Pod, Parameters<typeof need>[2], boolean]>([
    ['when nothing of it is left', over(), cleaned, true],
    ['when its worker is through', over(), { state: 'finished' }, true],
    ['not while something of it is left', over(), { state: 'terminated' }, false],
    ['not while it is ended', over(), { state: 'terminating' }, false],
    ['not when nobody knows of its worker', over(), undefined, false],
    ['not before the API server shows that it is over', over(deleting, 'Running'), cleaned, false],
    ['not when nobody has asked for it', over({}), cleaned, false],
    ['not again when a finalizer holds it', over({ ...deleting, deletionGracePeriodSeconds: 0 }), cleaned, false],
    [
      'never when it is a mirror',
      over({ ...deleting, annotations: { 'kubernetes.io/config.mirror': 's' } }),
      cleaned,
      false,
    ],
  ])('%s', (_, api, worker, removed) => {
    expect(need(api, undefined, worker)?.kind === 'delete').toBe(removed);
  });

  test('with its last status, where that is new', () => {
    expect(need(over(), { phase: 'Failed' }, cleaned)).toEqual({ kind: 'delete', patch: undefined });
    expect(need(over(), { phase: 'Failed', reason: 'R' }, cleaned)).toMatchObject({
      kind: 'delete',
      patch: { status: { reason: 'R' } },
    });
  });
});

describe('a container that has ended for good', () => {
  const spec = { restartPolicy: 'Never' };
  const ended: PodStatus = { containerStatuses: [container('c', { terminated: { exitCode: 0 } })] };
  const alive: PodStatus = { containerStatuses: [container('c', { running: {} })] };

  test('is never shown as alive again', () => {
    expect(need(pod({ status: ended, spec }), alive)).toEqual({ kind: 'refuse', container: 'c' });
  });

  test('is no reason to keep the pod', () => {
    const api = pod({ status: { ...ended, phase: 'Succeeded' }, spec, metadata: deleting });
    expect(need(api, alive, { state: 'finished' })).toEqual({ kind: 'delete', patch: undefined });
  });

  test.each<[string, Partial<Pod['spec']>, Partial<Pod['metadata']>]>([
    ['runs again when its policy says so', {}, {}],
    ['runs again when its static pod does', spec, { annotations: { 'kubernetes.io/config.mirror': 's' } }],
    [
      'runs again when all containers may',
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
