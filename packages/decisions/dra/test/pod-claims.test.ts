import { describe, expect, test } from '@jest/globals';
import { allocatedClaim, hasClaims, podClaims } from '../src/index.ts';
import { podWith } from './pod.ts';

const made = (resourceClaimName?: string) => ({
  resourceClaimStatuses: [{ name: 'gpu', ...(resourceClaimName !== undefined && { resourceClaimName }) }],
});
const extendedResourceClaimStatus = { resourceClaimName: 'extended', requestMappings: [] };

test.each([
  ['no claims', podWith(undefined), []],
  ['a claim by name', podWith([{ name: 'gpu', resourceClaimName: 'g' }]), [{ claim: 'g', owned: false }]],
  [
    'one from a template',
    podWith([{ name: 'gpu', resourceClaimTemplateName: 't' }], made('web-gpu-x')),
    [{ claim: 'web-gpu-x', owned: true }],
  ],
  ['a template that needed none', podWith([{ name: 'gpu', resourceClaimTemplateName: 't' }], made()), []],
  [
    'a template whose claim does not exist yet',
    podWith([{ name: 'gpu', resourceClaimTemplateName: 't' }]),
    { problem: 'pod "default/web": ResourceClaim not created yet' },
  ],
  [
    'neither',
    podWith([{ name: 'gpu' }]),
    { problem: 'pod "default/web", spec.resourceClaim "gpu": none of the supported fields are set' },
  ],
  [
    'one for extended resources, after those of the spec',
    podWith([{ name: 'gpu', resourceClaimName: 'g' }], { extendedResourceClaimStatus }),
    [
      { claim: 'g', owned: false },
      { claim: 'extended', owned: false },
    ],
  ],
])('the claims of a pod with %s', (_, pod, claims) => {
  expect(podClaims(pod)).toEqual(claims);
});

test('a pod has claims by its spec, or by what the scheduler made for its extended resources', () => {
  expect(hasClaims(podWith([]))).toBe(false);
  expect(hasClaims(podWith([{ name: 'gpu' }]))).toBe(true);
  expect(hasClaims(podWith(undefined, { extendedResourceClaimStatus }))).toBe(true);
});

describe('a claim may be prepared', () => {
  const pod = { name: 'web', namespace: 'default', uid: 'p' };
  const metadata = { name: 'g', namespace: 'default', uid: 'u', ownerReferences: [{ uid: 'p', controller: true }] };
  const results = [{ driver: 'a.test' }, { driver: 'b.test' }, { driver: 'a.test' }];
  const status = { reservedFor: [{ uid: 'other' }, { uid: 'p' }], allocation: { devices: { results } } };
  const allocated = { uid: 'u', name: 'g', namespace: 'default', drivers: ['a.test', 'b.test'] };
  const notOwned = 'ResourceClaim default/g was not created for Pod default/web (Pod is not owner)';
  const notReserved = 'pod web (p) is not allowed to use ResourceClaim g (u)';

  test.each([
    ['reserved and allocated', false, { metadata: { ...metadata, ownerReferences: null }, status }, allocated],
    ['and the pod’s own', true, { metadata, status }, allocated],
    [
      'but another pod’s',
      true,
      { metadata: { ...metadata, ownerReferences: [{ uid: 'p' }, { uid: 'o', controller: true }] }, status },
      { problem: notOwned },
    ],
    [
      'but not reserved for the pod',
      false,
      { metadata, status: { ...status, reservedFor: [{ uid: 'other' }] } },
      { problem: notReserved },
    ],
    ['without any status', false, { metadata }, { problem: notReserved }],
    [
      'but not allocated',
      false,
      { metadata, status: { ...status, allocation: null } },
      { problem: 'ResourceClaim g: not allocated' },
    ],
    ['without a device', false, { metadata, status: { ...status, allocation: {} } }, { ...allocated, drivers: [] }],
  ])('%s', (_, owned, claim, expected) => {
    expect(allocatedClaim(pod, { claim: 'g', owned }, claim)).toEqual(expected);
  });
});
