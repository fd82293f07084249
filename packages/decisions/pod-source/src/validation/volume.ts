import { type Pod, type Volume, type VolumeSourceName, parseQuantity, volumeSourceNames } from '@kubus/contracts';
import type { FieldErrors, FieldPath } from './field.ts';
import { dnsLabel, dnsSubdomain, noBacksteps } from './names.ts';
import { checkTemplateMeta } from './metadata.ts';
import { checkQuantity } from './resources.ts';
import { checkRemoteVolume } from './volume-remote.ts';
import { checkConfigMap, checkDownwardApi, checkProjected, checkSecret } from './volume-files.ts';

/** The valid volumes of a pod, by name. Mounts may refer to these. */
export type KnownVolumes = ReadonlyMap<string, Volume>;

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** Checks every volume and returns the valid ones. */
export function checkVolumes(pod: Pod, path: FieldPath, errors: FieldErrors): KnownVolumes {
  const volumes = pod.spec.volumes ?? [];
  const known = new Map<string, Volume>();
  const madeClaims = new Set(
    volumes.filter((volume) => volume.ephemeral !== undefined).map((volume) => `${pod.metadata.name}-${volume.name}`),
  );
  for (const [i, volume] of volumes.entries()) {
    const at = path.index(i);
    const before = errors.list.length;
    checkSource(volume, pod, at, errors);
    if (volume.name === '') errors.required(at.child('name'));
    else errors.each(at.child('name'), volume.name, dnsLabel(volume.name));
    if (known.has(volume.name)) errors.duplicate(at.child('name'), volume.name);
    if (errors.list.length === before) known.set(volume.name, volume);

    const claim = volume.persistentVolumeClaim?.claimName ?? '';
    if (madeClaims.has(claim)) {
      const detail = 'must not reference a PVC that gets created for an ephemeral volume';
      errors.invalid(at.child('persistentVolumeClaim', 'claimName'), claim, detail);
    }
  }
  return known;
}

function checkSource(volume: Volume, pod: Pod, path: FieldPath, errors: FieldErrors): void {
  const [first, ...more] = volumeSourceNames.filter((name) => volume[name] !== undefined);
  if (first === undefined) {
    errors.required(path, 'must specify a volume type');
    return;
  }
  for (const name of more) errors.forbidden(path.child(name), 'may not specify more than 1 volume type');
  checkOne(first, volume, pod, path, errors);
}

function checkOne(kind: VolumeSourceName, volume: Volume, pod: Pod, path: FieldPath, errors: FieldErrors): void {
  const at = path.child(kind);
  const { hostPath, emptyDir, secret, configMap, downwardAPI, projected, csi, image } = volume;
  if (emptyDir !== undefined) checkEmptyDir(emptyDir, at, errors);
  else if (hostPath !== undefined) checkHostPath(hostPath, at, errors);
  else if (secret !== undefined) checkSecret(secret, at, errors);
  else if (configMap !== undefined) checkConfigMap(configMap, at, errors);
  else if (downwardAPI !== undefined) checkDownwardApi(downwardAPI, at, errors);
  else if (projected !== undefined) checkProjected(projected, pod.spec, at, errors);
  else if (volume.persistentVolumeClaim !== undefined) {
    if (volume.persistentVolumeClaim.claimName === '') errors.required(at.child('claimName'));
  } else if (volume.ephemeral !== undefined) checkEphemeral(volume, pod, path, errors);
  else if (csi !== undefined) checkCsi(csi, at, errors);
  else if (image !== undefined) {
    if ((image.reference ?? '') === '') errors.required(at.child('reference'));
    errors.oneOf(at.child('pullPolicy'), image.pullPolicy, ['Always', 'IfNotPresent', 'Never']);
  } else checkRemoteVolume(volume, path, errors);
}

function checkEmptyDir(source: NonNullable<Volume['emptyDir']>, path: FieldPath, errors: FieldErrors): void {
  if (source.sizeLimit === undefined) return;
  const limit = checkQuantity(source.sizeLimit, path.child('sizeLimit'), errors);
  if (limit !== undefined && limit.nano < 0n) {
    errors.forbidden(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity');
  }
}

function checkHostPath(source: NonNullable<Volume['hostPath']>, path: FieldPath, errors: FieldErrors): void {
  if (source.path === '') {
    errors.required(path.child('path'));
    return;
  }
  errors.each(path.child('path'), source.path, noBacksteps(source.path));
  const type = source.type ?? '';
  if (!hostPathTypes.includes(type)) errors.unsupported(path.child('type'), type, hostPathTypes);
}

function checkCsi(source: NonNullable<Volume['csi']>, path: FieldPath, errors: FieldErrors): void {
  const at = path.child('driver');
  if (source.driver === '') errors.required(at);
  else errors.each(at, source.driver, dnsSubdomain(source.driver.toLowerCase()));
  if (source.driver.length > 63) errors.tooLong(at, 63);
  if (source.nodePublishSecretRef === undefined) return;
  const name = source.nodePublishSecretRef.name ?? '';
  if (name === '') errors.required(path.child('nodePublishSecretRef', 'name'));
  else errors.each(path.child('nodePublishSecretRef', 'name'), name, dnsSubdomain(name));
}

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

function checkEphemeral(volume: Volume, pod: Pod, path: FieldPath, errors: FieldErrors): void {
  const at = path.child('ephemeral', 'volumeClaimTemplate');
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template === undefined) {
    errors.required(at);
  } else {
    checkTemplateMeta(template.metadata ?? {}, at.child('metadata'), errors);
    const { spec } = template;
    const modes = spec.accessModes ?? [];
    if (modes.length === 0) errors.required(at.child('spec', 'accessModes'), 'at least 1 access mode is required');
    for (const mode of modes) {
      if (!accessModes.includes(mode)) errors.unsupported(at.child('spec', 'accessModes'), mode, accessModes);
    }
    if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
      errors.forbidden(at.child('spec', 'accessModes'), 'may not use ReadWriteOncePod with other access modes');
    }
    checkStorage(spec.resources?.requests?.['storage'], at.child('spec', 'resources'), errors);
    const mode = spec.volumeMode ?? 'Filesystem';
    if (mode !== 'Block' && mode !== 'Filesystem') {
      errors.unsupported(at.child('spec', 'volumeMode'), mode, ['Block', 'Filesystem']);
    }
  }
  const claim = `${pod.metadata.name}-${volume.name}`;
  const wrong = dnsSubdomain(claim).map((message) => `PVC name ${JSON.stringify(claim)}: ${message}`);
  errors.each(path.child('name'), volume.name, wrong);
}

function checkStorage(size: string | undefined, path: FieldPath, errors: FieldErrors): void {
  const at = path.key('storage');
  if (size === undefined) errors.required(at);
  else if (parseQuantity(size) === undefined) checkQuantity(size, at, errors);
  else if ((parseQuantity(size)?.nano ?? 0n) <= 0n) errors.invalid(at, size, 'must be greater than zero');
}
