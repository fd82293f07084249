import type { Container, VolumeMount } from '@kubus/contracts';
import type { FieldErrors, FieldPath } from './field.ts';
import { descendingPath, noBacksteps } from './names.ts';
import type { KnownVolumes } from './volume.ts';

/** Checks the mounts and block devices of one container against the volumes of its pod. */
export function checkMounts(container: Container, volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const paths = new Set<string>();
  for (const [i, mount] of volumeMounts.entries()) {
    const at = path.child('volumeMounts').index(i);
    checkVolumeName(mount.name, volumes, at.child('name'), errors);
    if (mount.mountPath === '') errors.required(at.child('mountPath'));
    if (paths.has(mount.mountPath)) errors.invalid(at.child('mountPath'), mount.mountPath, 'must be unique');
    paths.add(mount.mountPath);
    if (volumeDevices.some((device) => device.name === mount.name)) {
      errors.invalid(at.child('name'), mount.name, 'must not already exist in volumeDevices');
    }
    if (volumeDevices.some((device) => device.devicePath === mount.mountPath)) {
      errors.invalid(at.child('mountPath'), mount.mountPath, 'must not already exist as a path in volumeDevices');
    }
    checkSubPath(mount, at, errors);
    checkPropagation(mount, container.securityContext?.privileged === true, at, errors);
  }
  checkDevices(container, volumes, path.child('volumeDevices'), errors);
}

function checkVolumeName(name: string, volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  if (name === '') errors.required(path);
  if (!volumes.has(name)) errors.notFound(path, name);
}

function checkSubPath(mount: VolumeMount, path: FieldPath, errors: FieldErrors): void {
  const { subPath = '', subPathExpr = '' } = mount;
  errors.each(path.child('subPath'), subPath, descendingPath(subPath));
  errors.each(path.child('subPathExpr'), subPathExpr, descendingPath(subPathExpr));
  if (subPath !== '' && subPathExpr !== '') {
    errors.invalid(path.child('subPathExpr'), subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  }
}

function checkPropagation(mount: VolumeMount, privileged: boolean, path: FieldPath, errors: FieldErrors): void {
  const { mountPropagation, recursiveReadOnly } = mount;
  if (mountPropagation !== undefined) {
    const at = path.child('mountPropagation');
    const modes = ['Bidirectional', 'HostToContainer', 'None'];
    if (!modes.includes(mountPropagation)) errors.unsupported(at, mountPropagation, modes);
    if (mountPropagation === 'Bidirectional' && !privileged) {
      errors.forbidden(at, 'Bidirectional mount propagation is available only to privileged containers');
    }
  }
  if (recursiveReadOnly === undefined || recursiveReadOnly === 'Disabled') return;
  const at = path.child('recursiveReadOnly');
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') {
    errors.unsupported(at, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
    return;
  }
  if (mount.readOnly !== true) errors.forbidden(at, 'may only be specified when readOnly is true');
  if (mountPropagation !== undefined && mountPropagation !== 'None') {
    errors.forbidden(at, 'may only be specified when mountPropagation is None or not specified');
  }
}

function checkDevices(container: Container, volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [i, { name, devicePath }] of volumeDevices.entries()) {
    const at = path.index(i);
    checkVolumeName(name, volumes, at.child('name'), errors);
    const volume = volumes.get(name);
    if (volume !== undefined && volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      errors.invalid(at.child('name'), name, detail);
    }
    if (names.has(name)) errors.invalid(at.child('name'), name, 'must be unique');
    names.add(name);
    if (devicePath === '') errors.required(at.child('devicePath'));
    if (paths.has(devicePath)) errors.invalid(at.child('devicePath'), devicePath, 'must be unique');
    paths.add(devicePath);
    errors.each(at.child('devicePath'), devicePath, noBacksteps(devicePath));
    if (volumeMounts.some((mount) => mount.name === name)) {
      errors.invalid(at.child('name'), name, 'must not already exist in volumeMounts');
    }
    if (volumeMounts.some((mount) => mount.mountPath === devicePath)) {
      errors.invalid(at.child('devicePath'), devicePath, 'must not already exist as a path in volumeMounts');
    }
  }
}
