import { describe, expect, test } from '@jest/globals';
import type { PodStatus } from '@kubus/contracts';
import { statusPatch } from '../../src/index.ts';
import { condition, container, pod } from './pods.ts';

describe('the status patch', () => {
  const before: PodStatus = {
    phase: 'Pending',
    message: 'old',
    conditions: [condition('a.io/gate', 'True'), condition('Ready', 'False', { reason: 'R', message: 'm' })],
    podIPs: [{ ip: '10.0.0.1' }],
    resources: { limits: { cpu: '1', memory: '1Gi' } },
  };
  const patchOf = (change: Partial<PodStatus>) => statusPatch(pod({ status: before }), { ...before, ...change });

  test.each<[string, Partial<PodStatus>, object | undefined]>([
    ['nothing', {}, undefined],
    ['a field', { phase: 'Running' }, { phase: 'Running' }],
    ['a removed field', { message: undefined }, { message: null }],
    [
      'a condition',
      { conditions: [condition('a.io/gate', 'True'), condition('Ready', 'True')] },
      { conditions: [{ type: 'Ready', status: 'True', reason: null, message: null }] },
    ],
    [
      'a removed condition',
      { conditions: [condition('a.io/gate', 'True')] },
      { conditions: [{ $patch: 'delete', type: 'Ready' }] },
    ],
    [
      'an additional address',
      { podIPs: [{ ip: 'a' }, { ip: 'b' }] },
      { podIPs: [{ $patch: 'replace' }, { ip: 'a' }, { ip: 'b' }] },
    ],
    ['removed addresses', { podIPs: undefined }, { podIPs: null }],
    ['first addresses', { hostIPs: [{ ip: 'h' }] }, { hostIPs: [{ ip: 'h' }] }],
    ['a resource', { resources: { limits: { cpu: '2' } } }, { resources: { limits: { cpu: '2', memory: null } } }],
    ['a container', { containerStatuses: [container('c', {})] }, { containerStatuses: [container('c', {})] }],
  ])('is minimal for %s', (_, change, status) => {
    expect(patchOf(change)).toEqual(status && { metadata: { uid: 'u1' }, status });
  });

  test.each<[string, PodStatus, PodStatus]>([
    ['an unset time', { startTime: null }, {}],
    [
      'a state without anything',
      { containerStatuses: [container('c', {}, { lastState: {} })] },
      { containerStatuses: [container('c', undefined)] },
    ],
    ['a quantity', { allocatedResources: { cpu: '1000m' } }, { allocatedResources: { cpu: '1' } }],
    ['an empty list', { podIPs: [] }, {}],
    [
      'the order of fields',
      { resources: { limits: { a: '1', b: '2' } } },
      { resources: { limits: { b: '2', a: '1' } } },
    ],
  ])('is undefined for two notations of %s', (_, one, other) => {
    expect(statusPatch(pod({ status: one }), other)).toBeUndefined();
    expect(statusPatch(pod({ status: other }), one)).toBeUndefined();
  });

  test.each<[string, PodStatus, PodStatus]>([
    [
      'a container that has not started, and one for which that is unknown',
      { containerStatuses: [container('c', {}, { started: false })] },
      { containerStatuses: [container('c', {})] },
    ],
    [
      'a container that is running without a start time, and one that is waiting',
      { containerStatuses: [container('c', { running: {} })] },
      { containerStatuses: [container('c', {})] },
    ],
    ['empty resources and unknown resources', { resources: {} }, {}],
  ])('distinguishes %s', (_, one, other) => {
    expect(statusPatch(pod({ status: one }), other)).toBeDefined();
    expect(statusPatch(pod({ status: other }), one)).toBeDefined();
  });
});
