import { describe, expect, test } from '@jest/globals';
import type { ClusterNode } from '@kubus/contracts';
import { type MirrorView, mirrorStep } from '../../src/index.ts';
import { pod } from './pods.ts';

const HASH = 'kubernetes.io/config.mirror';
const node: ClusterNode = {
  ...{ name: 'n', uid: 'nu', resourceVersion: '1', labels: {}, annotations: {}, taints: [], unschedulable: false },
  ...{ podCIDRs: [], addresses: [], capacity: {}, allocatable: {}, deleting: false },
  ...{ volumesInUse: [], volumesAttached: [] },
};
const current = pod({
  metadata: { uid: 's1', labels: { a: 'b' }, annotations: { x: 'y' }, resourceVersion: '7' },
  status: { phase: 'Pending' },
});
const mirror = (hash: string, more: object = {}) =>
  pod({ metadata: { uid: 'm1', annotations: { [HASH]: hash }, ...more } });
const deleted = { deletionTimestamp: '2030-01-01T12:00:00Z', deletionGracePeriodSeconds: 30 };

describe('a mirror pod', () => {
  test.each<[string, Partial<MirrorView>, 'create' | 'remove' | undefined]>([
    ['is created', { current }, 'create'],
    ['is not created without the Node object', { current, node: undefined }, undefined],
    ['is not created for a node that is being deleted', { current, node: { ...node, deleting: true } }, undefined],
    ['is not created for a pod that waits for an older one', { claimed: true }, undefined],
    ['stays', { current, api: mirror('s1') }, undefined],
    ['of an earlier pod is removed', { current, api: mirror('s0') }, 'remove'],
    ['of an earlier pod is kept while that is being ended', { claimed: true, api: mirror('s0') }, undefined],
    ['that a user deletes is removed, to be created again', { current, api: mirror('s1', deleted) }, 'remove'],
    [
      'that is kept by a finalizer is not removed again',
      { current, api: mirror('s1', { ...deleted, deletionGracePeriodSeconds: 0 }) },
      undefined,
    ],
    ['without a static pod is removed', { api: mirror('s0') }, 'remove'],
    ['is not created in place of another pod', { current, api: pod() }, undefined],
  ])('%s', (_, view, expected) => {
    expect(mirrorStep({ api: undefined, current: undefined, claimed: false, node, ...view })?.kind).toBe(expected);
  });

  test('is a copy that is owned by the Node object', () => {
    expect(mirrorStep({ api: undefined, current, claimed: true, node })).toEqual({
      kind: 'create',
      pod: {
        ...{ apiVersion: 'v1', kind: 'Pod' },
        metadata: {
          ...{ namespace: 'default', name: 'web', labels: { a: 'b' }, annotations: { x: 'y', [HASH]: 's1' } },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'nu', controller: true }],
        },
        spec: current.spec,
      },
    });
  });
});
