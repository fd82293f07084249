import type { OwnerReference, Pod, TemplateMeta } from '@kubus/contracts';
import { logFolderExcess } from '@kubus/pod';
import { type FieldErrors, type FieldPath, NOT_NEGATIVE } from './field.ts';
import { dnsLabel, dnsSubdomain, labelValueText, qualifiedName } from './names.ts';

const ANNOTATIONS_MAX_BYTES = 256 * 1024;
const UID = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,126}[A-Za-z0-9])?$/;
const UID_RULE = 'must be at most 128 letters, digits, "-", "_" and ".", and begin and end with a letter or digit';

export function checkPodMeta(meta: Pod['metadata'], path: FieldPath, errors: FieldErrors): void {
  if (meta.generateName !== undefined && meta.generateName !== '') {
    errors.each(path.child('generateName'), meta.generateName, dnsSubdomain(meta.generateName.replace(/-$/, 'a')));
  }
  if (meta.name === '') errors.required(path.child('name'), 'name or generateName is required');
  else errors.each(path.child('name'), meta.name, dnsSubdomain(meta.name));
  if (meta.namespace === '') errors.required(path.child('namespace'));
  else errors.each(path.child('namespace'), meta.namespace, dnsLabel(meta.namespace));
  // The API server creates UIDs itself; a UID from a manifest would be used unchanged in names of directories and cgroups on the node.
  if (!UID.test(meta.uid)) errors.invalid(path.child('uid'), meta.uid, UID_RULE);
  const excess = logFolderExcess(meta);
  if (excess > 0) errors.tooLong(path.child('name'), meta.name.length - excess);
  if ((meta.generation ?? 0) < 0) errors.invalid(path.child('generation'), meta.generation, NOT_NEGATIVE);
  checkLabels(meta.labels, path.child('labels'), errors);
  checkAnnotations(meta.annotations, path.child('annotations'), errors);
  checkOwners(meta.ownerReferences ?? [], path.child('ownerReferences'), errors);
  for (const [i, finalizer] of (meta.finalizers ?? []).entries()) {
    errors.each(path.child('finalizers').index(i), finalizer, qualifiedName(finalizer));
  }
}

/** Checks the metadata of a claim template: only labels and annotations may be set. */
export function checkTemplateMeta(meta: TemplateMeta, path: FieldPath, errors: FieldErrors): void {
  checkAnnotations(meta.annotations, path.child('annotations'), errors);
  checkLabels(meta.labels, path.child('labels'), errors);
  for (const field of Object.keys(meta)) {
    if (field === 'labels' || field === 'annotations') continue;
    errors.forbidden(path.child(field), 'cannot be set');
  }
}

export function checkLabels(
  labels: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
  errors: FieldErrors,
): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    errors.each(path, key, qualifiedName(key));
    errors.each(path, value, labelValueText(value));
  }
}

function checkAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
  errors: FieldErrors,
): void {
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    errors.each(path, key, qualifiedName(key.toLowerCase()));
    size += key.length + value.length;
  }
  if (size > ANNOTATIONS_MAX_BYTES) errors.tooLong(path, ANNOTATIONS_MAX_BYTES);
}

function checkOwners(owners: readonly OwnerReference[], path: FieldPath, errors: FieldErrors): void {
  let controller: string | undefined;
  for (const [i, owner] of owners.entries()) {
    const at = path.index(i);
    if (owner.apiVersion === '') errors.invalid(at.child('apiVersion'), owner.apiVersion, 'version must not be empty');
    for (const field of ['kind', 'name', 'uid'] as const) {
      if (owner[field] === '') errors.invalid(at.child(field), owner[field], 'must not be empty');
    }
    if (owner.controller !== true) continue;
    if (controller !== undefined) {
      const both = `${controller} and ${owner.kind}/${owner.name}`;
      errors.invalid(path, both, 'only one reference can have controller set to true');
    }
    controller = `${owner.kind}/${owner.name}`;
  }
}
