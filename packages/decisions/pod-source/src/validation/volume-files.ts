import type {
  ConfigMapVolumeSource,
  DownwardApiVolumeFile,
  DownwardApiVolumeSource,
  KeyToPath,
  PodSpec,
  ProjectedVolumeSource,
  SecretVolumeSource,
  VolumeProjection,
} from '@kubus/contracts';
import { checkFieldRef, checkResourceFieldRef } from './environment.ts';
import type { FieldErrors, FieldPath } from './field.ts';
import { dnsSubdomain, volumeFilePath } from './names.ts';
import { checkLabelSelector } from './scheduling.ts';

/** Fields of the pod that can be files. */
const fileFieldPaths = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
const MODE = 'must be a number between 0 and 0777 (octal), both inclusive';

export function checkSecret(source: SecretVolumeSource, path: FieldPath, errors: FieldErrors): void {
  if ((source.secretName ?? '') === '') errors.required(path.child('secretName'));
  checkMode(source.defaultMode, path.child('defaultMode'), errors);
  checkItems(source.items, path, errors);
}

export function checkConfigMap(source: ConfigMapVolumeSource, path: FieldPath, errors: FieldErrors): void {
  if ((source.name ?? '') === '') errors.required(path.child('name'));
  checkMode(source.defaultMode, path.child('defaultMode'), errors);
  checkItems(source.items, path, errors);
}

export function checkDownwardApi(source: DownwardApiVolumeSource, path: FieldPath, errors: FieldErrors): void {
  checkMode(source.defaultMode, path.child('defaultMode'), errors);
  for (const [i, file] of (source.items ?? []).entries()) checkDownwardFile(file, path.child('items').index(i), errors);
}

export function checkProjected(
  source: ProjectedVolumeSource,
  spec: PodSpec,
  path: FieldPath,
  errors: FieldErrors,
): void {
  checkMode(source.defaultMode, path.child('defaultMode'), errors);
  const paths = new Set<string>();
  for (const [i, projection] of (source.sources ?? []).entries()) {
    const at = path.child('sources').index(i);
    checkProjection(projection, spec, at, errors);
    for (const file of projectedPaths(projection)) {
      if (paths.has(file)) errors.invalid(at, file, 'conflicting duplicate paths');
      paths.add(file);
    }
  }
}

function checkProjection(source: VolumeProjection, spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  const kinds = [secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate];
  if (kinds.filter((kind) => kind !== undefined).length > 1) {
    errors.forbidden(path, 'may not specify more than 1 volume type per source');
  }
  for (const kind of ['secret', 'configMap'] as const) {
    const one = source[kind];
    if (one === undefined) continue;
    if ((one.name ?? '') === '') errors.required(path.child(kind, 'name'));
    checkItems(one.items, path.child(kind), errors);
  }
  for (const [i, file] of (downwardAPI?.items ?? []).entries()) {
    checkDownwardFile(file, path.child('downwardAPI', 'items').index(i), errors);
  }
  if (serviceAccountToken !== undefined) checkToken(serviceAccountToken, spec, path, errors);
  if (clusterTrustBundle !== undefined) checkTrustBundle(clusterTrustBundle, path, errors);
  if (podCertificate !== undefined) checkCertificate(podCertificate, path.child('podCertificate'), errors);
}

function checkToken(
  token: NonNullable<VolumeProjection['serviceAccountToken']>,
  spec: PodSpec,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const at = path.child('serviceAccountToken');
  const seconds = token.expirationSeconds ?? 0;
  const expiration = at.child('expirationSeconds');
  if (seconds < 600) errors.invalid(expiration, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > 2 ** 32) errors.invalid(expiration, seconds, 'may not specify a duration larger than 2^32 seconds');
  checkPath(token.path, at.child('path'), errors);
  if ((spec.serviceAccountName ?? '') === '') {
    errors.forbidden(at, 'must not be specified when serviceAccountName is not set');
  }
}

function checkTrustBundle(
  bundle: NonNullable<VolumeProjection['clusterTrustBundle']>,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const at = path.child('clusterTrustBundle');
  const { name, signerName } = bundle;
  if (name !== undefined && signerName !== undefined) {
    errors.invalid(at, name, 'only one of name and signerName may be used');
  } else if (name !== undefined) {
    if (name === '') errors.required(at.child('name'), 'must be a valid object name');
    // `signer.example.com:foo:bar` is a bundle of the signer `signer.example.com/foo`.
    else errors.each(at.child('name'), name, dnsSubdomain(name.slice(name.lastIndexOf(':') + 1)));
    if (bundle.labelSelector !== undefined) {
      errors.invalid(
        at.child('labelSelector'),
        bundle.labelSelector,
        'labelSelector must be unset if name is specified',
      );
    }
  } else if (signerName !== undefined) {
    if (!signerName.includes('/')) {
      errors.invalid(
        at.child('signerName'),
        signerName,
        'must be a fully qualified domain and path of the form "example.com/signer-name"',
      );
    }
    checkLabelSelector(bundle.labelSelector, at.child('labelSelector'), errors);
  } else {
    errors.required(at, 'either name or signerName must be specified');
  }
  checkPath(bundle.path, at.child('path'), errors);
}

const keyTypes = ['ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519', 'RSA3072', 'RSA4096'];

function checkCertificate(
  certificate: NonNullable<VolumeProjection['podCertificate']>,
  path: FieldPath,
  errors: FieldErrors,
): void {
  if (certificate.signerName === '') errors.required(path.child('signerName'));
  errors.oneOf(path.child('keyType'), certificate.keyType, keyTypes);
  const files = (['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const).filter(
    (field) => (certificate[field] ?? '') !== '',
  );
  for (const field of files) checkPath(certificate[field] ?? '', path.child(field), errors);
  if (files.length === 0)
    errors.required(path, 'specify at least one of credentialBundlePath, keyPath and certificateChainPath');
}

function checkDownwardFile(file: DownwardApiVolumeFile, path: FieldPath, errors: FieldErrors): void {
  checkPath(file.path, path.child('path'), errors);
  checkMode(file.mode, path.child('mode'), errors);
  if (file.fieldRef !== undefined) {
    checkFieldRef(file.fieldRef, fileFieldPaths, path.child('fieldRef'), errors);
    if (file.resourceFieldRef !== undefined) {
      errors.invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    }
  } else if (file.resourceFieldRef !== undefined) {
    checkResourceFieldRef(file.resourceFieldRef, true, path.child('resourceFieldRef'), errors);
  } else {
    errors.required(path, 'one of fieldRef and resourceFieldRef is required');
  }
}

function checkItems(items: readonly KeyToPath[] | undefined, path: FieldPath, errors: FieldErrors): void {
  for (const [i, item] of (items ?? []).entries()) {
    const at = path.child('items').index(i);
    if (item.key === '') errors.required(at.child('key'));
    checkPath(item.path, at.child('path'), errors);
    checkMode(item.mode, at.child('mode'), errors);
  }
}

function checkPath(file: string, path: FieldPath, errors: FieldErrors): void {
  if (file === '') errors.required(path);
  else errors.each(path, file, volumeFilePath(file));
}

function checkMode(mode: number | undefined, path: FieldPath, errors: FieldErrors): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) errors.invalid(path, mode, MODE);
}

/** The file paths in a source. A whole ConfigMap or Secret has none until it is read. */
function projectedPaths({
  secret,
  configMap,
  downwardAPI,
  clusterTrustBundle,
  podCertificate,
}: VolumeProjection): string[] {
  const files = [...(secret?.items ?? []), ...(configMap?.items ?? []), ...(downwardAPI?.items ?? [])];
  const { credentialBundlePath, keyPath, certificateChainPath } = podCertificate ?? {};
  const named = [clusterTrustBundle?.path, credentialBundlePath, keyPath, certificateChainPath];
  return [...files.map((file) => file.path), ...named].filter((path) => path !== undefined && path !== '') as string[];
}
