import { expect, test } from '@jest/globals';
import { type ClaimStatus, expansionPatch } from '../../src/index.ts';

const expansion = { namespace: 'team', name: 'data', claimUid: 'c1', capacity: '2Gi' };
const claim = (status: ClaimStatus['status'], uid = 'c1'): ClaimStatus => ({
  metadata: { uid, resourceVersion: '7' },
  status,
});
const metadata = { uid: 'c1', resourceVersion: '7' };
const capacity = { storage: '2Gi' };

test.each<[string, ClaimStatus, object | undefined]>([
  ['without a status is patched', claim(undefined), { metadata, status: { capacity } }],
  ['that is smaller is patched', claim({ capacity: { storage: '1Gi' } }), { metadata, status: { capacity } }],
  [
    'that waits for the node is patched',
    claim({
      capacity: { storage: '1Gi' },
      conditions: [{ type: 'FileSystemResizePending' }, { type: 'Other' }, { type: 'NodeResizeError' }],
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress', other: 'x' },
    }),
    {
      metadata,
      status: {
        capacity,
        conditions: [
          { $patch: 'delete', type: 'FileSystemResizePending' },
          { $patch: 'delete', type: 'NodeResizeError' },
        ],
        allocatedResourceStatuses: { storage: null },
      },
    },
  ],
  ['that has the size is not patched', claim({ capacity: { storage: '2048Mi' } }), undefined],
  ['that has been expanded further is not patched', claim({ capacity: { storage: '3Gi' } }), undefined],
  ['with another UID is not patched', claim({ capacity: { storage: '1Gi' } }, 'c2'), undefined],
])('a claim %s', (_, known, expected) => expect(expansionPatch(known, expansion)).toEqual(expected));
