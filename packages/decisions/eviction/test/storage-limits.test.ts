import { expect, test } from '@jest/globals';
import { type Candidate, type Disks, hasStorageLimit, storageExcess } from '../src/index.ts';
import { type Uses, candidate } from './candidates.ts';

const MI = 1024 * 1024;
const limit = { 'ephemeral-storage': '10Mi' };
const ofPod = 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ';
const ofContainer = 'Container main exceeded its local ephemeral storage limit "10Mi". ';

test.each<[string, Uses, Disks, string | undefined]>([
  ['layer and logs at the limit', { limit, layer: 4 * MI, logs: 6 * MI }, 'one', undefined],
  ['layer and logs above it', { limit, layer: 4 * MI, logs: 6 * MI + 1 }, 'one', ofPod],
  ['a volume above it', { limit, volumes: { cache: 10 * MI + 1 } }, 'one', ofPod],
  ['a volume in memory above it', { limit, volumes: { tmpfs: 11 * MI } }, 'one', undefined],
  ['a layer on another disk above it', { limit, layer: 11 * MI }, 'images', ofPod],
  ['no limit', { layer: 11 * MI }, 'one', undefined],
])('%s', (_what, uses, disks, message) => {
  expect(storageExcess(candidate('web', uses), disks)?.failure.message).toBe(message);
});

/** Another container has a limit as well, so that the pod may use more than the first one. */
function withSidecar({ pod, use }: Candidate): Candidate {
  const [main] = pod.spec.containers;
  if (main === undefined) throw new Error('a pod has a container');
  return { use, pod: { ...pod, spec: { ...pod.spec, containers: [main, { ...main, name: 'sidecar' }] } } };
}

test('a container within the limit of the pod may still exceed its own', () => {
  const above = withSidecar(candidate('web', { limit, layer: 11 * MI }));
  expect(storageExcess(above, 'one')).toEqual({
    signal: 'ephemeralcontainerfs.limit',
    failure: { reason: 'Evicted', message: ofContainer },
  });
  // Of containers whose layers are on a disk of their own, the logs alone count.
  expect(storageExcess(above, 'images')).toBeUndefined();
  const logs = withSidecar(candidate('web', { limit, logs: 11 * MI }));
  expect(storageExcess(logs, 'images')?.failure.message).toBe(ofContainer);
});

test('only pods with a limit have to be measured, and one of which nothing is known stays', () => {
  const { pod } = candidate('web', { limit });
  expect([hasStorageLimit(pod), hasStorageLimit(candidate('web', {}).pod)]).toEqual([true, false]);
  expect(storageExcess({ pod, use: undefined }, 'one')).toBeUndefined();
});
