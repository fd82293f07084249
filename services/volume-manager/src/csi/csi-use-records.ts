import { uniqueCsiVolume } from '@kubus/contracts';
import { createRegular, namesIn, readRegular, removeTree } from '@kubus/filesystem';
import { KubusError, type Logger, hasErrno, ignoring, toError } from '@kubus/ports';
import {
  type CsiStep,
  type CsiVolumeName,
  attachmentName,
  csiDevicePlace,
  csiPodPath,
  csiStagingPlace,
  podCsiFolders,
  podsFolder,
} from '@kubus/volume';
import { mkdir, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { FOLDER_MODE } from '../host/file-stat.ts';

const DATA_FILE = 'vol_data.json';
/** The largest file that is read, in bytes; the fields are names of a driver, a volume and a node. */
const DATA_BYTES = 64 * 1024;

/** A volume of a pod for which a driver was called or is about to be called. */
export interface CsiUse extends CsiVolumeName {
  readonly uid: string;
  /** It is created and removed with the pod. */
  readonly inline: boolean;
}

/** `vol_data.json` as the reference kubelet writes it (pkg/volume/csi): every value is a string. */
const volumeDataSchema = z.object({
  driverName: z.string(),
  volumeHandle: z.string(),
  specVolID: z.string().optional(),
  volumeLifecycleMode: z.string().optional(),
});

/**
 * Which pods use which CSI volumes. Kept on disk where the reference kubelet keeps it too: a file beside a file
 * system, a link to a device. Written before a driver is called, removed after everything has been undone, so that a
 * crash leaves nothing unrecorded. The index in memory only saves reads.
 */
export class CsiUseRecords {
  readonly #root: string;
  readonly #node: string;
  readonly #uses = new Map<string, CsiUse>();

  private constructor(root: string, node: string) {
    this.#root = root;
    this.#node = node;
  }

  /** Reads the records of earlier processes. A record that cannot be read fails again when its pod is removed. */
  static async open(root: string, node: string, logger: Logger): Promise<CsiUseRecords> {
    const records = new CsiUseRecords(root, node);
    for (const uid of await namesIn(podsFolder(root))) {
      await records.ofPod(uid).catch((error: unknown) => {
        logger.error({ err: toError(error), podUid: uid }, 'cannot read the CSI records of a pod');
      });
    }
    return records;
  }

  /** All recorded uses. */
  get all(): readonly CsiUse[] {
    return [...this.#uses.values()];
  }

  /** Other uses of the same volume. */
  others(use: CsiUse): readonly CsiUse[] {
    return this.all.filter((one) => uniqueCsiVolume(one) === uniqueCsiVolume(use) && keyOf(one) !== keyOf(use));
  }

  /** The uses of a pod, as they are on disk now. Throws when a record cannot be parsed. */
  async ofPod(uid: string): Promise<readonly CsiUse[]> {
    const folders = podCsiFolders(this.#root, uid);
    const [files, devices] = await Promise.all([namesIn(folders.files), namesIn(folders.devices)]);
    const found = await Promise.all([
      ...files.map((specName) => this.#readFileSystem(uid, specName, `${folders.files}/${specName}`)),
      ...devices.map((specName) => this.#readDevice(uid, specName)),
    ]);
    const uses = found.filter((use) => use !== undefined);
    for (const use of uses) this.#uses.set(keyOf(use), use);
    return uses;
  }

  /** Records that the pod uses the volume. Idempotent. */
  async begin(step: CsiStep): Promise<CsiUse> {
    const { driver, volumeHandle, specName, block, inline, pod } = step;
    const use: CsiUse = { driver, volumeHandle, specName, block, inline, uid: pod.uid };
    const path = csiPodPath(this.#root, pod.uid, step);
    const names = {
      attachmentID: attachmentName(step, this.#node),
      driverName: driver,
      nodeName: this.#node,
      specVolID: specName,
      volumeHandle,
    };
    if (block) {
      // First the link from the pod to the device: without it, the rest would not be found after a crash.
      await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
      await link(csiDevicePlace(this.#root, pod.uid, specName).published, path);
      await writeData(csiStagingPlace(this.#root, step).data, names);
    } else {
      await writeData(dirname(path), { ...names, volumeLifecycleMode: inline ? 'Ephemeral' : 'Persistent' });
    }
    this.#uses.set(keyOf(use), use);
    return use;
  }

  /** Records that the volume is staged or about to be staged. */
  async beginStaging(step: CsiStep): Promise<void> {
    const { driver: driverName, volumeHandle, block } = step;
    const { data, staging } = csiStagingPlace(this.#root, step);
    if (!block) await writeData(data, { driverName, volumeHandle });
    await mkdir(dirname(staging), { recursive: true, mode: FOLDER_MODE });
    await ignoring('EEXIST', mkdir(staging, { mode: FOLDER_MODE }));
  }

  /** Removes the record that the volume is staged; nothing is mounted there any more. */
  async endStaging(volume: CsiVolumeName): Promise<void> {
    const { data, staging } = csiStagingPlace(this.#root, volume);
    if (volume.block) return removeTree(staging);
    await ignoring('ENOENT', rmdir(staging));
    await removeData(data);
  }

  /** Removes the folders of a device that all pods share; no pod uses it any more. */
  async endDevice(device: CsiVolumeName): Promise<void> {
    const { data } = csiStagingPlace(this.#root, device);
    const { published, held } = csiDevicePlace(this.#root, '-', device.specName);
    for (const folder of [dirname(published), dirname(held)]) await ignoring('ENOENT', rmdir(folder));
    await removeData(data);
    await ignoring('ENOENT', rmdir(dirname(data)));
  }

  /** Whether the volume may be staged. */
  async isStaged(volume: CsiVolumeName): Promise<boolean> {
    const { staging, data } = csiStagingPlace(this.#root, volume);
    const names = await namesIn(volume.block ? dirname(staging) : data);
    return names.includes(volume.block ? volume.specName : DATA_FILE);
  }

  /** Removes the record of a use of which nothing is left. */
  async end(use: CsiUse): Promise<void> {
    const path = csiPodPath(this.#root, use.uid, use);
    if (use.block) await removeLink(path);
    else await removeData(dirname(path));
    this.#uses.delete(keyOf(use));
  }

  /** A folder without the file is left over from a removed one: no driver knows of it. */
  async #readFileSystem(uid: string, specName: string, folder: string): Promise<CsiUse | undefined> {
    const data = await readData(folder);
    if (data === undefined) {
      await ignoring('ENOENT', rmdir(`${folder}/mount`));
      await removeData(folder);
      return undefined;
    }
    const { driverName: driver, volumeHandle, volumeLifecycleMode } = data;
    return { uid, specName, driver, volumeHandle, block: false, inline: volumeLifecycleMode === 'Ephemeral' };
  }

  async #readDevice(uid: string, specName: string): Promise<CsiUse | undefined> {
    const unknown = { specName, block: true, driver: '', volumeHandle: '' };
    const data = await readData(csiStagingPlace(this.#root, unknown).data);
    if (data === undefined) {
      await this.#removeEmptyDevice(unknown);
      await removeLink(csiPodPath(this.#root, uid, unknown));
      return undefined;
    }
    return { uid, ...unknown, driver: data.driverName, volumeHandle: data.volumeHandle, inline: false };
  }

  /** Removes the folders of a device without a record; another pod may just be starting to use it. */
  async #removeEmptyDevice(device: CsiVolumeName): Promise<void> {
    const { data } = csiStagingPlace(this.#root, device);
    const { published, held } = csiDevicePlace(this.#root, '-', device.specName);
    await ignoring(['ENOENT', 'ENOTDIR'], unlink(`${data}/.${DATA_FILE}`));
    for (const folder of [dirname(published), dirname(held), data, dirname(data)]) {
      await ignoring(['ENOENT', 'ENOTDIR', 'ENOTEMPTY'], rmdir(folder));
    }
  }
}

function keyOf({ uid, specName, block }: CsiUse): string {
  return `${uid}/${specName}/${block ? 'device' : 'files'}`;
}

/** Renamed into place, so that the file is never half written. */
async function writeData(folder: string, data: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const unfinished = `${folder}/.${DATA_FILE}`;
  await ignoring('ENOENT', unlink(unfinished));
  const file = await createRegular(unfinished, 0o644);
  try {
    await file.writeFile(`${JSON.stringify(data)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, `${folder}/${DATA_FILE}`);
}

async function readData(folder: string): Promise<z.infer<typeof volumeDataSchema> | undefined> {
  const path = `${folder}/${DATA_FILE}`;
  try {
    const text = await readRegular(path, { limit: DATA_BYTES });
    return text === undefined ? undefined : volumeDataSchema.parse(JSON.parse(text.toString()));
  } catch (error) {
    if (hasErrno(error, 'ENOTDIR')) return undefined;
    const message = `kubernetes.io/csi: failed to parse volume data file [${path}]: ${toError(error).message}`;
    throw new KubusError('bad-volume-data', message, { cause: error, context: { path } });
  }
}

async function link(target: string, path: string): Promise<void> {
  try {
    await symlink(target, path);
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error;
    if ((await readlink(path)) === target) return;
    await unlink(path);
    await symlink(target, path);
  }
}

/** Removes the link, and the folders above it if they contained only links. */
async function removeLink(path: string): Promise<void> {
  await ignoring('ENOENT', unlink(path));
  for (const folder of [dirname(path), dirname(dirname(path))]) {
    await ignoring(['ENOENT', 'ENOTEMPTY'], rmdir(folder));
  }
}

async function removeData(folder: string): Promise<void> {
  for (const name of [`.${DATA_FILE}`, DATA_FILE]) await ignoring('ENOENT', unlink(`${folder}/${name}`));
  await ignoring('ENOENT', rmdir(folder));
}
