import { forbiddenField, immutableField, requiredField } from '../field-problems.ts';
import { type Json, asList, asObject, asText, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import type { Rules } from './rules.ts';

/** Of a class that a user makes. Source: HighestUserDefinablePriority. */
const MOST_PRIORITY = 1_000_000_000;
const SYSTEM = 'system-';

/** Source: pkg/registry/scheduling/priorityclass, its validation and the defaults of scheduling/v1. */
export const priorityClassRules: Rules = {
  ...plainRules,
  generationOf: () => null,
  defaults: (one) => ({ value: 0, preemptionPolicy: 'PreemptLowerPriority', ...one }),
  validate: (one, previous) => [
    ...(one.metadata.name.startsWith(SYSTEM)
      ? [
          forbiddenField(
            'metadata.name',
            `priority class names with '${SYSTEM}' prefix are reserved for system use only`,
          ),
        ]
      : Number(one['value']) > MOST_PRIORITY
        ? [forbiddenField('value', `maximum allowed value of a user defined priority is ${MOST_PRIORITY}`)]
        : []),
    ...(previous !== undefined && one['value'] !== previous['value']
      ? [forbiddenField('value', 'may not be changed in an update.')]
      : []),
    ...fixed('preemptionPolicy', one, previous),
  ],
};

/** Source: pkg/registry/storage/storageclass, its validation and the defaults of storage/v1. */
export const storageClassRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  defaults: (one) => ({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate', ...one }),
  validate: (one, previous) => [
    ...(asText(one['provisioner']) === '' ? [requiredField('provisioner')] : []),
    ...['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'].flatMap((field) =>
      fixed(field, one, previous),
    ),
  ],
};

/** Source: pkg/registry/discovery/endpointslice, its validation and the defaults of discovery/v1. */
export const endpointSliceRules: Rules = {
  ...plainRules,
  generationOf: ({ endpoints = null, ports = null }) => ({ endpoints, ports }),
  defaults: (slice) => ({
    endpoints: null,
    ...slice,
    ports: Array.isArray(slice['ports'])
      ? asList(slice['ports']).map((port): Json => ({ name: '', protocol: 'TCP', ...asObject(port) }))
      : null,
  }),
  validate: (slice, previous) => [
    ...(asText(slice['addressType']) === '' ? [requiredField('addressType')] : []),
    ...fixed('addressType', slice, previous),
  ],
};

function fixed(field: string, next: KubeObject, previous: KubeObject | undefined): FieldProblem[] {
  if (previous === undefined || sameJson(next[field], previous[field])) return [];
  return [immutableField(field, next[field])];
}
