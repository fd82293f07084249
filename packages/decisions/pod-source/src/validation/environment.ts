import {
  type EnvFromSource,
  type EnvVar,
  type FileKeySelector,
  type KeySelector,
  type ObjectFieldSelector,
  type ResourceFieldSelector,
  formatQuantity,
} from '@kubus/contracts';
import type { FieldErrors, FieldPath } from './field.ts';
import { configMapKey, dnsSubdomain, envVarName, qualifiedName, volumeFilePath } from './names.ts';
import { checkQuantity } from './resources.ts';
import type { KnownVolumes } from './volume.ts';

/** Fields of the pod that can be environment variables. */
const envFieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const envSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;

const containerResources = ['cpu', 'ephemeral-storage', 'memory'];
const resourcePaths = ['limits', 'requests'].flatMap((kind) => containerResources.map((name) => `${kind}.${name}`));
const byteDivisors = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit) => `1${unit}`);

export function checkEnv(vars: readonly EnvVar[], volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  for (const [i, variable] of vars.entries()) {
    const at = path.index(i);
    if (variable.name === '') errors.required(at.child('name'));
    else errors.each(at.child('name'), variable.name, envVarName(variable.name));
    checkValueFrom(variable, volumes, at.child('valueFrom'), errors);
  }
}

function checkValueFrom(variable: EnvVar, volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  const source = variable.valueFrom;
  if (source === undefined) return;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef !== undefined) checkFieldRef(fieldRef, envFieldPaths, path.child('fieldRef'), errors);
  if (resourceFieldRef !== undefined) {
    checkResourceFieldRef(resourceFieldRef, false, path.child('resourceFieldRef'), errors);
  }
  if (configMapKeyRef !== undefined) checkKeyRef(configMapKeyRef, path.child('configMapKeyRef'), errors);
  if (secretKeyRef !== undefined) checkKeyRef(secretKeyRef, path.child('secretKeyRef'), errors);
  if (fileKeyRef !== undefined) checkFileKeyRef(fileKeyRef, volumes, path.child('fileKeyRef'), errors);

  const count = envSources.filter((name) => source[name] !== undefined).length;
  if (count === 0) {
    const names = envSources.map((name) => `\`${name}\``).join(', ');
    errors.invalid(path, '', `must specify one of: ${names}`);
  } else if ((variable.value ?? '') !== '') {
    errors.invalid(path, '', 'may not be specified when `value` is not empty');
  } else if (count > 1) {
    errors.invalid(path, '', 'may not have more than one field specified at a time');
  }
}

export function checkEnvFrom(sources: readonly EnvFromSource[], path: FieldPath, errors: FieldErrors): void {
  for (const [i, source] of sources.entries()) {
    const at = path.index(i);
    const prefix = source.prefix ?? '';
    if (prefix !== '') errors.each(at.child('prefix'), prefix, envVarName(prefix));
    const kinds = (['configMapRef', 'secretRef'] as const).filter((kind) => source[kind] !== undefined);
    for (const kind of kinds) {
      const name = source[kind]?.name ?? '';
      if (name === '') errors.required(at.child(kind, 'name'));
      else errors.each(at.child(kind, 'name'), name, dnsSubdomain(name));
    }
    if (kinds.length === 0) errors.invalid(at, '', 'must specify one of: `configMapRef` or `secretRef`');
    if (kinds.length > 1) errors.invalid(at, '', 'may not have more than one field specified at a time');
  }
}

/** A field of the pod, with an optional subscript: `metadata.labels['app']`. */
export function checkFieldRef(
  ref: ObjectFieldSelector,
  supported: readonly string[],
  path: FieldPath,
  errors: FieldErrors,
): void {
  if ((ref.apiVersion ?? '') === '') {
    errors.required(path.child('apiVersion'));
  } else if (ref.apiVersion !== 'v1') {
    errors.invalid(path.child('fieldPath'), ref.fieldPath, `unsupported pod version: ${ref.apiVersion ?? ''}`);
  } else if (ref.fieldPath === '') {
    errors.required(path.child('fieldPath'));
  } else {
    const [, map, key] = /^(.*)\['(.*)'\]$/.exec(ref.fieldPath) ?? [];
    if (map === undefined || key === undefined) {
      if (!supported.includes(ref.fieldPath)) errors.unsupported(path.child('fieldPath'), ref.fieldPath, supported);
    } else if (map === 'metadata.annotations') {
      errors.each(path, key.toLowerCase(), qualifiedName(key.toLowerCase()));
    } else if (map === 'metadata.labels') {
      errors.each(path, key, qualifiedName(key));
    } else {
      errors.invalid(path, map, 'does not support subscript');
    }
  }
}

/** `needsContainer`: true in a volume, where the container has to be specified. */
export function checkResourceFieldRef(
  ref: ResourceFieldSelector,
  needsContainer: boolean,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const [, resource = ''] = /^(?:limits|requests)\.(.+)$/.exec(ref.resource) ?? [];
  const known = containerResources.includes(resource) || resource.startsWith('hugepages-');
  if (needsContainer && (ref.containerName ?? '') === '') errors.required(path.child('containerName'));
  else if (ref.resource === '') errors.required(path.child('resource'));
  else if (!known) errors.unsupported(path.child('resource'), ref.resource, resourcePaths);

  if (ref.divisor === undefined) return;
  const divisor = checkQuantity(ref.divisor, path.child('divisor'), errors);
  if (divisor === undefined || divisor.nano === 0n || !known) return;
  const allowed = resource === 'cpu' ? ['1m', '1'] : byteDivisors;
  if (allowed.includes(formatQuantity(divisor))) return;
  const detail = `only divisor's values ${allowed.join(', ')} are supported with the ${resource} resource`;
  errors.invalid(path.child('divisor'), ref.divisor, detail);
}

function checkKeyRef(ref: KeySelector, path: FieldPath, errors: FieldErrors): void {
  errors.each(path.child('name'), ref.name ?? '', dnsSubdomain(ref.name ?? ''));
  if (ref.key === '') errors.required(path.child('key'));
  else errors.each(path.child('key'), ref.key, configMapKey(ref.key));
}

function checkFileKeyRef(ref: FileKeySelector, volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  const volume = volumes.get(ref.volumeName);
  if (ref.volumeName === '') errors.required(path.child('volumeName'));
  else if (volume === undefined) errors.notFound(path.child('volumeName'), ref.volumeName);
  else if (volume.emptyDir === undefined) {
    errors.invalid(path.child('volumeName'), ref.volumeName, 'must be an emptyDir volume');
  }
  if (ref.path === '') errors.required(path.child('path'));
  else errors.each(path.child('path'), ref.path, volumeFilePath(ref.path));
  if (ref.key === '') errors.required(path.child('key'));
  else errors.each(path.child('key'), ref.key, envVarName(ref.key));
}
