import type { Volume } from '@kubus/contracts';
import type { FieldErrors, FieldPath } from './field.ts';
import { descendingPath, inRange } from './names.ts';

type RemoteName =
  | 'awsElasticBlockStore'
  | 'azureDisk'
  | 'azureFile'
  | 'cephfs'
  | 'cinder'
  | 'flexVolume'
  | 'gcePersistentDisk'
  | 'gitRepo'
  | 'glusterfs'
  | 'iscsi'
  | 'nfs'
  | 'photonPersistentDisk'
  | 'portworxVolume'
  | 'quobyte'
  | 'rbd'
  | 'scaleIO'
  | 'storageos'
  | 'vsphereVolume';

/** The required fields of each kind. */
const requiredFields: Readonly<Record<RemoteName, readonly string[]>> = {
  awsElasticBlockStore: ['volumeID'],
  azureDisk: ['diskName', 'diskURI'],
  azureFile: ['secretName', 'shareName'],
  cephfs: ['monitors'],
  cinder: ['volumeID'],
  flexVolume: ['driver'],
  gcePersistentDisk: ['pdName'],
  gitRepo: ['repository'],
  glusterfs: ['endpoints', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  nfs: ['server', 'path'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  quobyte: ['registry', 'volume'],
  rbd: ['monitors', 'image'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  storageos: ['volumeName'],
  vsphereVolume: ['volumePath'],
};

/** Checks volumes of storage systems outside the node: the required fields, and the formats of the volumes that a node mounts itself. */
export function checkRemoteVolume(volume: Volume, path: FieldPath, errors: FieldErrors): void {
  for (const [kind, fields] of Object.entries(requiredFields)) {
    const source: Readonly<Record<string, unknown>> | undefined = volume[kind as RemoteName];
    if (source === undefined) continue;
    for (const field of fields) {
      const value = source[field];
      if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
        errors.required(path.child(kind, field));
      }
    }
  }
  const { nfs, iscsi, fc, flocker, gitRepo } = volume;
  if (nfs !== undefined && !nfs.path.startsWith('/')) {
    errors.invalid(path.child('nfs', 'path'), nfs.path, 'must be an absolute path');
  }
  if (gitRepo !== undefined) {
    errors.each(path.child('gitRepo', 'directory'), gitRepo.directory ?? '', descendingPath(gitRepo.directory ?? ''));
  }
  if (flocker !== undefined && (flocker.datasetName ?? '') === '' && (flocker.datasetUUID ?? '') === '') {
    errors.required(path.child('flocker'), 'one of datasetName and datasetUUID is required');
  }
  if (iscsi !== undefined) checkIscsi(iscsi, volume.name, path, errors);
  if (fc !== undefined) checkFc(fc, path.child('fc'), errors);
}

const iscsiNames = [
  /^iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$/,
  /^eui\.[A-Za-z0-9]{16}$/,
  /^naa\.[A-Za-z0-9]{32}$/,
];

function checkIscsi(
  source: NonNullable<Volume['iscsi']>,
  volumeName: string,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const at = path.child('iscsi');
  for (const field of ['iqn', 'initiatorName'] as const) {
    const name = source[field];
    if (name === undefined || (field === 'iqn' && name === '')) continue;
    if (!/^(iqn|eui|naa)/.test(name)) {
      errors.invalid(at.child(field), name, 'must be valid format starting with iqn, eui, or naa');
    } else if (!iscsiNames.some((format) => format.test(name))) {
      errors.invalid(at.child(field), name, 'must be valid format');
    }
  }
  errors.each(at.child('lun'), source.lun, inRange(source.lun, 0, 255));
  const chap = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  if (chap && source.secretRef === undefined) errors.required(at.child('secretRef'));
  if (source.initiatorName !== undefined && `${volumeName}:${source.targetPortal}`.length > 64) {
    const detail =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
    errors.invalid(path.child('name'), volumeName, detail);
  }
}

function checkFc(source: NonNullable<Volume['fc']>, path: FieldPath, errors: FieldErrors): void {
  const targets = source.targetWWNs ?? [];
  const wwids = source.wwids ?? [];
  if (targets.length === 0 && wwids.length === 0) {
    errors.required(path.child('targetWWNs'), 'must specify either targetWWNs or wwids, but not both');
  }
  if (targets.length > 0 && wwids.length > 0) {
    errors.invalid(path.child('targetWWNs'), targets, 'targetWWNs and wwids can not be specified simultaneously');
  }
  if (targets.length === 0) return;
  if (source.lun === undefined) errors.required(path.child('lun'), 'lun is required if targetWWNs is specified');
  else errors.each(path.child('lun'), source.lun, inRange(source.lun, 0, 255));
}
