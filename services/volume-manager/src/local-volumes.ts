import type { MountedVolume } from '@kubus/contracts';
import { type Mount, listMounts, makeReadOnly, mount, mountDevice } from '@kubus/mount';
import { type Clock, type Logger, ignoring } from '@kubus/ports';
import { type LocalDeviceStep, type LocalStep, localDevicesFolder, localMountsFolder, podsFolder } from '@kubus/volume';
import { mkdir, readdir, readlink, realpath, rename, rmdir, stat, symlink, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { FOLDER_MODE, VolumeRefused, kindOf, statOf } from './file-stat.ts';
import { holdDevice } from './hold-device.ts';
import { giveToGroup } from './ownership.ts';
import type { VolumeNews } from './ports.ts';
import { Turns } from './turns.ts';
import { unmountSurely } from './unmount-surely.ts';

export interface LocalVolumesOptions {
  /** The node's folder for pods, without symbolic links. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Tell = (news: VolumeNews) => void;

/**
 * Folders and devices of the node as volumes. A device with a file system is mounted once, and shown to each pod; it stays
 * as long as a pod has it. What is there is read from the list of mounts, so nothing has to be remembered.
 */
export class LocalVolumes {
  readonly #options: LocalVolumesOptions;
  /** One volume at a time under its name: pods may share it. */
  readonly #turns = new Turns();

  constructor(options: LocalVolumesOptions) {
    this.#options = options;
  }

  make(step: LocalStep, tell: Tell): Promise<MountedVolume> {
    return this.#turns.run(step.specName, () => this.#make(step, tell));
  }

  async find(step: LocalStep): Promise<MountedVolume | undefined> {
    return mountAt(await listMounts(), step.path) && shown(step);
  }

  /** Gives containers a device itself. */
  async makeDevice({ path, source, held }: LocalDeviceStep): Promise<MountedVolume> {
    const kind = await sourceKind(source);
    if (kind !== 'block device') throw new VolumeRefused('refused', `path "${source}" is not a block device`);
    await holdDevice(source, held);
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

  /** Undoes what is there for a pod's devices, and the mounts of those that no pod has any more. */
  async release(uid: string): Promise<void> {
    const { root } = this.#options;
    const devices = localDevicesFolder(root);
    for (const name of await namesIn(devices)) await this.#releaseDevice(`${devices}/${name}`, uid);
    const mounts = localMountsFolder(root);
    // One that is being made just now is in use, or will be released with the pod that it is made for.
    const idle = (await namesIn(mounts)).filter((name) => !this.#turns.isBusy(name));
    await Promise.all(idle.map((name) => this.#turns.run(name, () => this.#releaseMount(`${mounts}/${name}`))));
  }

  async #make(step: LocalStep, tell: Tell): Promise<MountedVolume> {
    const kind = await sourceKind(step.source);
    if (kind !== 'directory' && kind !== 'block device')
      throw new VolumeRefused('refused', 'only directory and block device are supported');
    const source = kind === 'directory' ? await realpath(step.source) : await this.#mountDevice(step);
    const mounts = await listMounts();
    const present = mountAt(mounts, step.path);
    if (present === undefined) {
      // Before the pod has it: the mount says that all has been done.
      await this.#own(step, source, this.#podMounts(mounts, step.specName).length > 0, tell);
      await mkdir(step.path, { recursive: true, mode: FOLDER_MODE });
      const options = ['bind', ...(step.readOnly ? ['ro'] : []), ...step.mountOptions];
      await mount({ type: 'none', source, target: step.path, options });
    } else if (step.readOnly && !present.readOnly) {
      // Between the two calls that such a mount takes an earlier life has ended.
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

  /** The files of a volume that another pod has are its business too, and stay as they are. */
  async #own({ ownership, path, uid, specName }: LocalStep, source: string, isShared: boolean, tell: Tell) {
    if (ownership === undefined) return;
    if (isShared) {
      const { gid } = await stat(source);
      if (gid === ownership.gid) return;
      const message = `The requested fsGroup is ${ownership.gid}, but the volume ${specName} has GID ${gid}. The volume may not be shareable.`;
      tell({ reason: 'AlreadyMountedVolume', message });
      return;
    }
    const { clock, logger } = this.#options;
    await giveToGroup(source, ownership, { clock, logger, uid, specName, shownAs: path, tell });
  }

  /** Where pods have the volume. */
  #podMounts(mounts: readonly Mount[], specName: string): string[] {
    const pods = `${podsFolder(this.#options.root)}/`;
    const end = `/volumes/kubernetes.io~local-volume/${specName}`;
    return mounts.map(({ target }) => target).filter((target) => target.startsWith(pods) && target.endsWith(end));
  }

  async #releaseDevice(folder: string, uid: string): Promise<void> {
    const held = `${folder}/${uid}`;
    if (mountAt(await listMounts(), held)) await unmountSurely(held, this.#options);
    await ignoring('ENOENT', unlink(held));
    await removeEmpty(folder);
  }

  async #releaseMount(folder: string): Promise<void> {
    const mounts = await listMounts();
    if (this.#podMounts(mounts, basename(folder)).length > 0) return;
    if (mountAt(mounts, folder)) await unmountSurely(folder, this.#options);
    await removeEmpty(folder);
  }
}

function shown({ path, readOnly }: LocalStep): MountedVolume {
  return readOnly ? { hostPath: path, readOnly } : { hostPath: path, relabel: true };
}

/** The mount that is seen at the path. */
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
