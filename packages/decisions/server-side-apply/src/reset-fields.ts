import { fieldSet } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldElement } from './path-element.ts';

const fields = (...paths: readonly string[]): FieldSet =>
  fieldSet(...paths.map((path) => path.split('.').map(fieldElement)));

/** Kinds whose status is written by a subresource of its own. */
const withStatus = new Set([
  'Pod',
  'Node',
  'Namespace',
  'Service',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'ResourceClaim',
  'VolumeAttachment',
]);

const own: Readonly<Record<string, FieldSet>> = {
  'Pod status': fields('spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'),
  'ResourceClaim status': fields('spec', 'metadata'),
  'VolumeAttachment status': fields('spec', 'metadata'),
  'Namespace finalize': fields('status'),
  'CertificateSigningRequest ': fields('spec', 'status'),
  'CertificateSigningRequest status': fields('spec', 'status.conditions'),
  'CertificateSigningRequest approval': fields('spec', 'status.certificate'),
};

/**
 * The fields that a write to the object or to its subresource leaves as they are, and so makes nobody's. Source:
 * `GetResetFields` of the reference's strategies.
 * @param subresource Empty for the object itself.
 */
export function resetFields(kind: string, subresource: string): FieldSet {
  const special = own[`${kind} ${subresource}`];
  if (special !== undefined) return special;
  if (!withStatus.has(kind)) return new Map();
  return subresource === '' ? fields('status') : subresource === 'status' ? fields('spec') : new Map();
}

/** What is of nobody in every object. */
export const unmanaged: FieldSet = fields(
  'apiVersion',
  'kind',
  'metadata',
  'metadata.name',
  'metadata.namespace',
  'metadata.creationTimestamp',
  'metadata.selfLink',
  'metadata.uid',
  'metadata.clusterName',
  'metadata.generation',
  'metadata.managedFields',
  'metadata.resourceVersion',
);
