import { immutableField, requiredField } from '../field-problems.ts';
import { type JsonObject, asList, asObject, asText, at, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import { type Rules, keepStatus, withField } from './rules.ts';

/** Source: pkg/registry/core/persistentvolumeclaim, the defaults of core/v1, and admission StorageObjectInUseProtection. */
export const claimRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  defaults: (claim) => ({ ...claim, spec: { volumeMode: 'Filesystem', ...claim.spec } }),
  create: (claim) => ({
    ...protectedBy('kubernetes.io/pvc-protection', claim),
    status: { phase: 'Pending' },
  }),
  update: keepStatus,
  // A request to the status may change labels and annotations, but not what the claim asks for.
  subresources: { status: (next, { spec }) => withField(next, 'spec', spec) },
  validate: (claim) => [
    ...required(
      'spec.accessModes',
      asList(at(claim, 'spec', 'accessModes')).length > 0,
      'at least 1 access mode is required',
    ),
    ...required('spec.resources[storage]', asText(at(claim, 'spec', 'resources', 'requests', 'storage')) !== ''),
  ],
};

/** Source: pkg/registry/core/persistentvolume and the defaults of core/v1. */
export const volumeRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  defaults: (volume) => ({
    ...volume,
    spec: {
      persistentVolumeReclaimPolicy: 'Retain',
      volumeMode: 'Filesystem',
      ...volume.spec,
      ...typedHostPath(volume),
    },
  }),
  create: (volume) => ({
    ...protectedBy('kubernetes.io/pv-protection', volume),
    status: { phase: 'Pending' },
  }),
  update: keepStatus,
  subresources: { status: (next, { spec }) => withField(next, 'spec', spec) },
  validate: (volume) => [
    ...required('spec.accessModes', asList(at(volume, 'spec', 'accessModes')).length > 0),
    ...required('spec.capacity', asText(at(volume, 'spec', 'capacity', 'storage')) !== ''),
  ],
};

const DRIVER: JsonObject = {
  attachRequired: true,
  podInfoOnMount: false,
  storageCapacity: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  volumeLifecycleModes: ['Persistent'],
  requiresRepublish: false,
  seLinuxMount: false,
};

/** Source: the defaults of storage/v1. */
export const driverRules: Rules = {
  ...plainRules,
  unconditionalUpdate: false,
  returnsDeleted: true,
  defaults: (driver) => ({ ...driver, spec: { ...DRIVER, ...driver.spec } }),
};

/** Source: pkg/registry/storage/csinode and its validation: of a driver that is named only `allocatable` may change. */
export const csiNodeRules: Rules = {
  ...plainRules,
  unconditionalUpdate: false,
  returnsDeleted: true,
  create: (node) => ({ ...node, spec: { drivers: null, ...node.spec } }),
  validate: (node, previous) => {
    const before = new Map(driversOf(previous).map((driver) => [asText(driver['name']), driver]));
    return driversOf(node).flatMap((driver, index): FieldProblem[] => {
      const old = before.get(asText(driver['name']));
      const same = old === undefined || sameJson(identity(old), identity(driver));
      return [
        ...required(`spec.drivers[${index}].nodeID`, asText(driver['nodeID']) !== ''),
        ...(same ? [] : [immutableField('spec.drivers', identity(driver))]),
      ];
    });
  },
};

/** Source: pkg/registry/storage/volumeattachment. */
export const attachmentRules: Rules = {
  ...plainRules,
  unconditionalUpdate: false,
  returnsDeleted: true,
  create: (attachment) => ({ ...attachment, status: { attached: false } }),
  update: keepStatus,
  subresources: { status: ({ status }, previous) => withField(previous, 'status', status) },
  validate: (attachment, previous) =>
    previous !== undefined && !sameJson(attachment.spec ?? {}, previous.spec ?? {})
      ? [immutableField('spec', attachment.spec ?? {})]
      : [],
};

function protectedBy(finalizer: string, object: KubeObject): KubeObject {
  const { finalizers = [] } = object.metadata;
  const all = finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers: all } };
}

function typedHostPath({ spec }: KubeObject): JsonObject {
  const hostPath = spec?.['hostPath'];
  return hostPath === undefined ? {} : { hostPath: { type: '', ...asObject(hostPath) } };
}

function driversOf(node: KubeObject | undefined): JsonObject[] {
  return asList(at(node, 'spec', 'drivers')).map(asObject);
}

/** The immutable parts of a driver. */
function identity({ allocatable: _, ...driver }: JsonObject): JsonObject {
  return driver;
}

function required(field: string, isThere: boolean, detail?: string): FieldProblem[] {
  return isThere ? [] : [requiredField(field, detail)];
}
