import type { MountedVolume } from '@kubus/contracts';
import { createRegular, isMounted, mount, mountsBelow, namesIn, removeTree } from '@kubus/filesystem';
import { type Clock, type Logger, ignoring } from '@kubus/ports';
import {
  type ContentStep,
  type CsiStep,
  type FolderStep,
  type HostStep,
  type MemoryStep,
  type NfsStep,
  type VolumeStep,
  hostPathStep,
  podCsiFolders,
  podFolder,
  podsFolder,
  subPathsFolder,
  volumeDevicesFolder,
  volumesFolder,
} from '@kubus/volume';
import { chmod, chown, mkdir, rename, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isWritten, makeContent } from './content.ts';
import type { CsiVolumes } from '../csi/csi-volumes.ts';
import { diskUsage } from '../usage/disk-usage.ts';
import { FOLDER_MODE, VolumeRefused, kindOf, statOf } from './file-stat.ts';
import { LocalVolumes } from './local-volumes.ts';
import type { ProjectQuotas } from './project-quotas.ts';
import type { VolumeHost, VolumeEvent } from '../ports.ts';
import { makeSubPath, removeSubPaths } from '../sub-path/sub-path.ts';
import { unmountOrForce } from './unmount-or-force.ts';
import type { ValueReader } from './values.ts';

export interface VolumeHostOptions {
  /** The node's folder for pods, without symbolic links, so that it is the same as in the mount table. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where values of objects and tokens are read; default: no API server. */
  readonly objects?: ValueReader | undefined;
  /** Default: no CSI drivers. */
  readonly csi?: CsiHost;
  /** Default: none. */
  readonly quotas?: ProjectQuotas | undefined;
  /** Milliseconds that a server may take to mount or unmount; default: {@link LIMITS}. */
  readonly limits?: { readonly mountMs: number; readonly unmountMs: number };
}

/** The volumes of CSI drivers. */
type CsiHost = Pick<CsiVolumes, 'make' | 'find' | 'remove'>;

const NO_DRIVERS: CsiHost = {
  make: () => Promise.reject(new VolumeRefused('refused', 'this node has no CSI drivers')),
  find: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
};

const UNFINISHED = '.unfinished';
/** mount.nfs(8) itself retries for two minutes. */
const LIMITS = { mountMs: 120_000, unmountMs: 60_000 };

export function createVolumeHost(options: VolumeHostOptions): VolumeHost {
  const { root, logger, objects, csi = NO_DRIVERS, limits = LIMITS, quotas } = options;
  const local = new LocalVolumes(options);
  const makers = { local, limits, quotas };
  const unmounting = { logger, unmountMs: limits.unmountMs };
  return {
    make: async (step, report) => {
      if (step.kind === 'csi') return csi.make(step, report);
      if (step.kind !== 'content') return { volume: await makeVolume(step, report, makers) };
      const made = await makeContent(step, () => makeVolume(step.folder, report, makers), objects);
      return { ...made, volume: readOnly(step) };
    },
    find: (step) => (step.kind === 'csi' ? csi.find(step) : findVolume(step, local)),
    subPath: (mount) => makeSubPath(root, mount),
    remove: async (uid) => {
      // The subPath mounts first, since they use the volumes.
      await removeSubPaths(root, uid, unmounting);
      // CSI volumes are undone by their drivers; a driver that fails does not keep the other volumes.
      const [undone] = await Promise.allSettled([csi.remove(uid)]);
      for (const folder of await foldersOfOthers(root, uid)) {
        for (const { target } of await mountsBelow(folder)) await unmountOrForce(target, unmounting);
        await removeTree(folder);
      }
      await quotas?.release(uid);
      await local.release(uid);
      if (undone.status === 'rejected') throw undone.reason;
      await removeEmptyFolders(root, uid);
    },
    usage: async ({ path, quota }) => {
      const counted = quota && (await quotas?.usage(path));
      return counted === undefined ? diskUsage(path) : BigInt(counted.bytes);
    },
    pods: async () => [...new Set([...(await podsWithVolumes(root)), ...(await local.podsWithDevices())])],
  };
}

interface Makers {
  readonly local: LocalVolumes;
  readonly limits: typeof LIMITS;
  readonly quotas: ProjectQuotas | undefined;
}

type OtherStep = Exclude<VolumeStep, CsiStep | ContentStep>;

function makeVolume(step: OtherStep, report: (event: VolumeEvent) => void, makers: Makers): Promise<MountedVolume> {
  switch (step.kind) {
    case 'folder':
      return makeFolder(step, makers.quotas);
    case 'memory':
      return makeMount(step);
    case 'host':
      return use(step);
    case 'local':
      return makers.local.make(step, report);
    case 'localDevice':
      return makers.local.makeDevice(step);
    case 'nfs':
      return makeNfs(step, makers.limits.mountMs);
  }
}

async function findVolume(step: Exclude<VolumeStep, CsiStep>, local: LocalVolumes): Promise<MountedVolume | undefined> {
  switch (step.kind) {
    case 'folder':
      return (await statOf(step.path)) && managed(step.path);
    case 'memory':
      return (await isMounted(step.path)) ? managed(step.path) : undefined;
    case 'host':
      return (await statOf(step.path)) && ofHost(step);
    case 'content':
      return (await findVolume(step.folder, local)) && (await isWritten(step)) ? readOnly(step) : undefined;
    case 'local':
      return local.find(step);
    case 'localDevice':
      return local.findDevice(step);
    case 'nfs':
      return (await isMounted(step.path)) ? ofHost(step) : undefined;
  }
}

/** Made by the node for this pod only, so its files may get the containers' SELinux label. */
function managed(path: string): MountedVolume {
  return { hostPath: path, relabel: true };
}

/** Written by the node; containers must not change it. */
function readOnly({ folder: { path } }: ContentStep): MountedVolume {
  return { ...managed(path), readOnly: true };
}

/** Shared with others, so it is not relabelled. */
function ofHost({ path, readOnly = false }: HostStep | NfsStep): MountedVolume {
  return { hostPath: path, ...(readOnly && { readOnly }) };
}

/** Renamed into place when complete. The permissions of an existing folder are up to the pod and stay. */
async function makeFolder({ path, mode, gid, quota }: FolderStep, quotas?: ProjectQuotas): Promise<MountedVolume> {
  if ((await statOf(path)) !== undefined) return managed(path);
  const unfinished = `${path}${UNFINISHED}`;
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  await removeTree(unfinished);
  await mkdir(unfinished);
  if (gid !== undefined) await chown(unfinished, -1, gid);
  // After chown, which clears the set-group-ID bit; not in mkdir, where the umask would apply.
  await chmod(unfinished, mode);
  if (quota) await quotas?.assign(unfinished, path);
  await rename(unfinished, path);
  return managed(path);
}

/** One call mounts the file system with all its permissions, so it is never half made. */
async function makeMount({ path, type, options }: MemoryStep): Promise<MountedVolume> {
  const made = await mkdir(path, { recursive: true, mode: FOLDER_MODE });
  // A new folder has no mount, so the long mount table need not be read.
  if (made !== undefined || !(await isMounted(path))) await mount({ type, source: type, target: path, options });
  return managed(path);
}

/**
 * Nothing here touches the mounted file system: a server that does not answer would block this process, not only
 * mount(8).
 */
async function makeNfs(step: NfsStep, limitMs: number): Promise<MountedVolume> {
  const { path: target, source, options } = step;
  if (!(await isMounted(target))) {
    await mkdir(dirname(target), { recursive: true, mode: FOLDER_MODE });
    await ignoring('EEXIST', mkdir(target, { mode: FOLDER_MODE }));
    await mount({ type: 'nfs', source, target, options, limitMs });
  }
  return ofHost(step);
}

async function use(volume: HostStep): Promise<MountedVolume> {
  const { path, type } = volume;
  const found = type === '' ? undefined : kindOf(await statOf(path));
  const step = hostPathStep(path, type, found);
  if (step.kind === 'refuse') throw new VolumeRefused('refused', step.error, { context: { path } });
  if (step.kind === 'make' && step.what === 'directory') await mkdir(path, { recursive: true, mode: step.mode });
  if (step.kind === 'make' && step.what === 'file') await makeFile(path, step.mode);
  return ofHost(volume);
}

/** What has the name meanwhile stays. */
async function makeFile(path: string, mode: number): Promise<void> {
  await (await ignoring('EEXIST', createRegular(path, mode)))?.close();
}

/** The folders of the pod's volumes that no CSI driver has made, by plugin. */
async function foldersOfOthers(root: string, uid: string): Promise<string[]> {
  const ofDrivers: readonly string[] = Object.values(podCsiFolders(root, uid));
  const above = [volumesFolder(root, uid), volumeDevicesFolder(root, uid)];
  const all = await Promise.all(
    above.map(async (folder) => (await namesIn(folder)).map((name) => `${folder}/${name}`)),
  );
  return all.flat().filter((folder) => !ofDrivers.includes(folder));
}

/** Other services use the rest of the pod's folder; the last one removes it. */
async function removeEmptyFolders(root: string, uid: string): Promise<void> {
  const { files, devices } = podCsiFolders(root, uid);
  const folders = [files, devices, volumesFolder(root, uid), volumeDevicesFolder(root, uid)];
  for (const folder of folders) await ignoring('ENOENT', rmdir(folder));
  await ignoring(['ENOENT', 'ENOTEMPTY', 'EEXIST'], rmdir(podFolder(root, uid)));
}

async function podsWithVolumes(root: string): Promise<string[]> {
  const folders = [volumesFolder, volumeDevicesFolder, subPathsFolder];
  const found = await Promise.all(
    (await namesIn(podsFolder(root))).map(async (uid) => {
      const all = await Promise.all(folders.map((folder) => statOf(folder(root, uid))));
      return all.some((stats) => stats !== undefined) ? [uid] : [];
    }),
  );
  return found.flat();
}
