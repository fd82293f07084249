import { plainRules } from './rules/plain-rules.ts';
import { claimTemplateRules, deviceClassRules, resourceClaimRules } from './rules/resource-claim-rules.ts';
import type { Resource } from './resources.ts';

const dynamic = { group: 'resource.k8s.io', version: 'v1' };

/** Devices, and claims for them. */
export const deviceResources: readonly Resource[] = [
  {
    ...dynamic,
    plural: 'resourceclaims',
    singular: 'resourceclaim',
    kind: 'ResourceClaim',
    namespaced: true,
    subresources: ['status'],
    always: { spec: { devices: {} }, status: {} },
    rules: resourceClaimRules,
  },
  {
    ...dynamic,
    plural: 'resourceclaimtemplates',
    singular: 'resourceclaimtemplate',
    kind: 'ResourceClaimTemplate',
    namespaced: true,
    subresources: [],
    always: { spec: { metadata: {}, spec: { devices: {} } } },
    rules: claimTemplateRules,
  },
  {
    ...dynamic,
    plural: 'deviceclasses',
    singular: 'deviceclass',
    kind: 'DeviceClass',
    namespaced: false,
    subresources: [],
    always: { spec: {} },
    rules: deviceClassRules,
  },
  {
    ...dynamic,
    plural: 'resourceslices',
    singular: 'resourceslice',
    kind: 'ResourceSlice',
    namespaced: false,
    subresources: [],
    selectable: ['spec.nodeName', 'spec.driver'],
    always: { spec: { driver: '', pool: { name: '', generation: 0, resourceSliceCount: 0 } } },
    rules: { ...plainRules, returnsDeleted: true },
  },
];
