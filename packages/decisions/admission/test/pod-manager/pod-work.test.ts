import { expect, test } from '@jest/globals';
import type { Pod, PodStatus, PodWork } from '@kubus/contracts';
import { sameWork } from '../../src/index.ts';

function work(status: PodStatus, metadata: Partial<Pod['metadata']> = {}): PodWork {
  const ref = { namespace: 'default', name: 'web', uid: 'u' };
  const pod: Pod = { metadata: { ...ref, resourceVersion: '1', ...metadata }, spec: { containers: [] }, status };
  return {
    ...{ ref, pod, source: 'api', work: 'sync', reason: 'desired', worker: 'w', firstSeen: '2030-01-01T00:00:00Z' },
  };
}

const gate = (status: string) => ({ type: 'a.io/gate', status });
const ready = (status: string) => ({ type: 'Ready', status });

test.each<[string, boolean, PodWork]>([
  [
    'the node’s own status',
    true,
    work({ phase: 'Running', podIP: '10.0.0.1', conditions: [ready('True'), gate('False')] }),
  ],
  ['its resource version alone', true, work({ conditions: [gate('False')] }, { resourceVersion: '2' })],
  ['a readiness gate', false, work({ conditions: [gate('True')] })],
  ['the end of the pod', false, work({ phase: 'Failed', conditions: [gate('False')] })],
  [
    'a claim status written by another component',
    false,
    work({ conditions: [gate('False')], resourceClaimStatuses: [{ name: 'c' }] }),
  ],
  ['its deletion', false, work({ conditions: [gate('False')] }, { deletionTimestamp: '2030-01-01T00:00:00Z' })],
])('the work of a pod that changed in %s is the same: %s', (_, same, after) => {
  expect(sameWork(work({ phase: 'Pending', conditions: [ready('False'), gate('False')] }), after)).toBe(same);
});

test('no work differs from any work', () => {
  expect([sameWork(undefined, undefined), sameWork(undefined, work({})), sameWork(work({}), undefined)]).toEqual([
    true,
    false,
    false,
  ]);
});
