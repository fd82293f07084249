import type { MountedVolume } from '@kubus/contracts';
import { isMounted, mount, mountsBelow, namesIn, removeTree } from '@kubus/mount';
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
import { chmod, chown, mkdir, open, rename, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isWritten, makeContent } from './content.ts';
import type { CsiVolumes } from './csi/csi-volumes.ts';
import { diskUsage } from './disk-usage.ts';
import { FOLDER_MODE, VolumeRefused, kindOf, statOf } from './file-stat.ts';
import { LocalVolumes } from './local-volumes.ts';
import type { VolumeHost, VolumeNews } from './ports.ts';
import { makeSubPath, removeSubPaths } from './sub-path.ts';
import { unmountSurely } from './unmount-surely.ts';
import type { ValueReader } from './values.ts';

export interface VolumeHostOptions {
  /** The node's folder for pods, without symbolic links, so that it reads as in the list of mounts. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where values of objects and tokens are read. Left out where there is no API server that has any. */
  readonly objects?: ValueReader | undefined;
  /** Left out: there are no drivers. */
  readonly csi?: CsiHost;
  /** Milliseconds that a server may take to mount, or to unmount, before it is given up. */
  readonly limits?: { readonly mountMs: number; readonly unmountMs: number };
}

/** What CSI drivers make. */
export type CsiHost = Pick<CsiVolumes, 'make' | 'find' | 'remove'>;

const NO_DRIVERS: CsiHost = {
  make: () => Promise.reject(new VolumeRefused('refused', 'this node has no CSI drivers')),
  find: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
};

const UNFINISHED = '.unfinished';
/** What a server may take: two minutes are what mount.nfs(8) itself tries for. */
const LIMITS = { mountMs: 120_000, unmountMs: 60_000 };

export function createVolumeHost(options: VolumeHostOptions): VolumeHost {
  const { root, logger, objects, csi = NO_DRIVERS, limits = LIMITS } = options;
  const local = new LocalVolumes(options);
  const makers = { local, limits };
  const unmounting = { logger, unmountMs: limits.unmountMs };
  return {
    make: async (step, tell) => {
      if (step.kind === 'csi') return csi.make(step, tell);
      if (step.kind !== 'content') return { volume: await makeVolume(step, tell, makers) };
      const made = await makeContent(step, () => makeVolume(step.folder, tell, makers), objects);
      return { ...made, volume: readOnly(step) };
    },
    find: (step) => (step.kind === 'csi' ? csi.find(step) : findVolume(step, local)),
    subPath: (mount) => makeSubPath(root, mount),
    remove: async (uid) => {
      // What containers see of the volumes is gone before these are.
      await removeSubPaths(root, uid, unmounting);
      // What a driver has made is its to undo; one that does not, keeps none of the other volumes.
      const [undone] = await Promise.allSettled([csi.remove(uid)]);
      for (const folder of await foldersOfOthers(root, uid)) {
        for (const { target } of await mountsBelow(folder)) await unmountSurely(target, unmounting);
        await removeTree(folder);
      }
      await local.release(uid);
      if (undone.status === 'rejected') throw undone.reason;
      await removeEmptyFolders(root, uid);
    },
    usage: diskUsage,
    pods: async () => [...new Set([...(await podsWithVolumes(root)), ...(await local.podsWithDevices())])],
  };
}

interface Makers {
  readonly local: LocalVolumes;
  readonly limits: typeof LIMITS;
}

type OtherStep = Exclude<VolumeStep, CsiStep | ContentStep>;

function makeVolume(step: OtherStep, tell: (news: VolumeNews) => void, makers: Makers): Promise<MountedVolume> {
  switch (step.kind) {
    case 'folder':
      return makeFolder(step);
    case 'memory':
      return makeMount(step);
    case 'host':
      return use(step);
    case 'local':
      return makers.local.make(step, tell);
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

/** The node's own: it is made for this pod alone, so its files may get the containers' label. */
function managed(path: string): MountedVolume {
  return { hostPath: path, relabel: true };
}

/** What the node writes is not for containers to change. */
function readOnly({ folder: { path } }: ContentStep): MountedVolume {
  return { ...managed(path), readOnly: true };
}

/** Others use it too: its labels are not the pod's business. */
function ofHost({ path, readOnly = false }: HostStep | NfsStep): MountedVolume {
  return { hostPath: path, ...(readOnly && { readOnly }) };
}

/**
 * Under its own name the folder is there as a whole or not at all: the rights of one that is there are the pod's business,
 * and are not set again.
 */
async function makeFolder({ path, mode, gid }: FolderStep): Promise<MountedVolume> {
  if ((await statOf(path)) !== undefined) return managed(path);
  const unfinished = `${path}${UNFINISHED}`;
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  await removeTree(unfinished);
  await mkdir(unfinished);
  if (gid !== undefined) await chown(unfinished, -1, gid);
  // After the owner, whose change takes the set-group-ID bit away; and not in mkdir, where the umask would count.
  await chmod(unfinished, mode);
  await rename(unfinished, path);
  return managed(path);
}

/** One call gives the file system all its rights, so it is there as a whole or not at all. */
async function makeMount({ path, type, options }: MemoryStep): Promise<MountedVolume> {
  const made = await mkdir(path, { recursive: true, mode: FOLDER_MODE });
  // Nothing is mounted on a folder that was not there, and the list of mounts is long.
  if (made !== undefined || !(await isMounted(path))) await mount({ type, source: type, target: path, options });
  return managed(path);
}

/** Nothing here looks at what is mounted: a server that does not answer would stop this process, and not mount(8) alone. */
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
  if (step.kind === 'make' && step.what === 'file') await (await open(path, 'a', step.mode)).close();
  return ofHost(volume);
}

/** The folders of the pod's volumes that no driver has made, by their plugins. */
async function foldersOfOthers(root: string, uid: string): Promise<string[]> {
  const ofDrivers: readonly string[] = Object.values(podCsiFolders(root, uid));
  const above = [volumesFolder(root, uid), volumeDevicesFolder(root, uid)];
  const all = await Promise.all(
    above.map(async (folder) => (await namesIn(folder)).map((name) => `${folder}/${name}`)),
  );
  return all.flat().filter((folder) => !ofDrivers.includes(folder));
}

/** The rest of the pod's folder is others' business; the last one takes it away. */
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
