import type { MountedVolume } from '@kubus/contracts';
import { type Mount, listMounts, makeReadOnly, mount, mountDevice } from '@kubus/filesystem';
import { Lanes } from '@kubus/flow';
import { type Clock, type Logger, ignoring } from '@kubus/ports';
import { type LocalDeviceStep, type LocalStep, localDevicesFolder, localMountsFolder, podsFolder } from '@kubus/volume';
import { mkdir, readdir, readlink, realpath, rename, rmdir, stat, symlink, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { FOLDER_MODE, VolumeRefused, kindOf, statOf } from './file-stat.ts';
import { pinDevice } from './pin-device.ts';
import { giveToGroup } from './ownership.ts';
import type { VolumeEvent } from '../ports.ts';
import { unmountOrForce } from './unmount-or-force.ts';

export interface LocalVolumesOptions {
  /** The node's folder for pods, without symbolic links. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Report = (event: VolumeEvent) => void;

/**
 * Folders and devices of the node as volumes. A device with a file system is mounted once and bind-mounted for each
 * pod; it stays mounted while a pod has it. The mount table shows what exists, so no record is needed.
 */
export class LocalVolumes {
  readonly #options: LocalVolumesOptions;
  /** One operation at a time per volume: pods may share it. */
  readonly #lanes = new Lanes();

  constructor(options: LocalVolumesOptions) {
    this.#options = options;
  }

  make(step: LocalStep, report: Report): Promise<MountedVolume> {
    return this.#lanes.run(step.specName, () => this.#make(step, report));
  }

  async find(step: LocalStep): Promise<MountedVolume | undefined> {
    return mountAt(await listMounts(), step.path) && shown(step);
  }

  /** Makes the device itself available to containers. */
  async makeDevice({ path, source, held }: LocalDeviceStep): Promise<MountedVolume> {
    const kind = await sourceKind(source);
    if (kind !== 'block device') throw new VolumeRefused('refused', `path "${source}" is not a block device`);
    await pinDevice(source, held);
    if ((await linkAt(path)) !== source) {
      await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
      const unfinished = `${path}.unfinished`;
      await ignoring('ENOENT', unlink(unfinished));
      await symlink(source, unfinished);
      await rename(unfinished, path);
    }
    return { hostPath: path, device: true };
  }

  async findDevice({ path }: LocalDeviceStep): Promise<MountedVolume | undefined> {
    return (await linkAt(path)) === undefined ? undefined : { hostPath: path, device: true };
  }

  /** UIDs of the pods that have devices. */
  async podsWithDevices(): Promise<string[]> {
    const folder = localDevicesFolder(this.#options.root);
    const uids = await Promise.all((await namesIn(folder)).map((name) => namesIn(`${folder}/${name}`)));
    return [...new Set(uids.flat())];
  }

  /** Removes a pod's devices, and the mounts of devices that no pod uses any more. */
  async release(uid: string): Promise<void> {
    const { root } = this.#options;
    const devices = localDevicesFolder(root);
    for (const name of await namesIn(devices)) await this.#releaseDevice(`${devices}/${name}`, uid);
    const mounts = localMountsFolder(root);
    // A device that is being mounted now is in use, or is released with its pod.
    const idle = (await namesIn(mounts)).filter((name) => !this.#lanes.isBusy(name));
    await Promise.all(idle.map((name) => this.#lanes.run(name, () => this.#releaseMount(`${mounts}/${name}`))));
  }

  async #make(step: LocalStep, report: Report): Promise<MountedVolume> {
    const kind = await sourceKind(step.source);
    if (kind !== 'directory' && kind !== 'block device')
      throw new VolumeRefused('refused', 'only directory and block device are supported');
    const source = kind === 'directory' ? await realpath(step.source) : await this.#mountDevice(step);
    const mounts = await listMounts();
    const present = mountAt(mounts, step.path);
    if (present === undefined) {
      // Before the pod's mount exists, since the mount marks the work as done.
      await this.#own(step, source, this.#podMounts(mounts, step.specName).length > 0, report);
      await mkdir(step.path, { recursive: true, mode: FOLDER_MODE });
      const options = ['bind', ...(step.readOnly ? ['ro'] : []), ...step.mountOptions];
      await mount({ type: 'none', source, target: step.path, options });
    } else if (step.readOnly && !present.readOnly) {
      // A read-only bind mount takes two calls, and an earlier process ended between them.
      await makeReadOnly(step.path);
    }
    return shown(step);
  }

  async #mountDevice({ source, deviceFolder, fsType, mountOptions, readOnly }: LocalStep): Promise<string> {
    if (!mountAt(await listMounts(), deviceFolder)) {
      await mkdir(deviceFolder, { recursive: true, mode: FOLDER_MODE });
      const options = [...mountOptions, ...(readOnly ? ['ro'] : [])];
      await mountDevice({ device: source, target: deviceFolder, fsType, options });
    }
    return deviceFolder;
  }

  /** Another pod uses the files too, so they stay as they are. */
  async #own({ ownership, path, uid, specName }: LocalStep, source: string, isShared: boolean, report: Report) {
    if (ownership === undefined) return;
    if (isShared) {
      const { gid } = await stat(source);
      if (gid === ownership.gid) return;
      const message = `The requested fsGroup is ${ownership.gid}, but the volume ${specName} has GID ${gid}. The volume may not be shareable.`;
      report({ reason: 'AlreadyMountedVolume', message });
      return;
    }
    const { clock, logger } = this.#options;
    await giveToGroup(source, ownership, { clock, logger, uid, specName, shownAs: path, report });
  }

  /** The paths at which pods have the volume. */
  #podMounts(mounts: readonly Mount[], specName: string): string[] {
    const pods = `${podsFolder(this.#options.root)}/`;
    const end = `/volumes/kubernetes.io~local-volume/${specName}`;
    return mounts.map(({ target }) => target).filter((target) => target.startsWith(pods) && target.endsWith(end));
  }

  async #releaseDevice(folder: string, uid: string): Promise<void> {
    const held = `${folder}/${uid}`;
    if (mountAt(await listMounts(), held)) await unmountOrForce(held, this.#options);
    await ignoring('ENOENT', unlink(held));
    await removeEmpty(folder);
  }

  async #releaseMount(folder: string): Promise<void> {
    const mounts = await listMounts();
    if (this.#podMounts(mounts, basename(folder)).length > 0) return;
    if (mountAt(mounts, folder)) await unmountOrForce(folder, this.#options);
    await removeEmpty(folder);
  }
}

function shown({ path, readOnly }: LocalStep): MountedVolume {
  return readOnly ? { hostPath: path, readOnly } : { hostPath: path, relabel: true };
}

/** The topmost mount at the path. */
function mountAt(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.findLast(({ target }) => target === path);
}

async function sourceKind(path: string): Promise<string | undefined> {
  const stats = await statOf(path);
  if (stats === undefined) throw new VolumeRefused('refused', `path "${path}" does not exist`, { context: { path } });
  return kindOf(stats);
}

async function linkAt(path: string): Promise<string | undefined> {
  return ignoring('ENOENT', readlink(path));
}

async function namesIn(folder: string): Promise<string[]> {
  return (await ignoring('ENOENT', readdir(folder))) ?? [];
}

async function removeEmpty(folder: string): Promise<void> {
  await ignoring(['ENOENT', 'ENOTEMPTY'], rmdir(folder));
}
