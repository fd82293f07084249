import type { MountedVolume } from '@kubus/contracts';
import { listMounts, mount, mountsBelow, removeTree, unmount } from '@kubus/mount';
import { KubusError, hasErrno } from '@kubus/ports';
import { type FileKind, type VolumeStep, hostPathStep, podFolder, podsFolder, volumesFolder } from '@kubus/volume';
import type { Stats } from 'node:fs';
import { chmod, chown, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { VolumeHost } from './ports.ts';

/** A volume can not be made as its pod wants it. */
export class VolumeRefused extends KubusError {}

/** Folders above the volumes are for root alone, as the kubelet's (kubelet behaviour 1.3, SyncPod). */
const FOLDER_MODE = 0o750;
const UNFINISHED = '.unfinished';

/** @param root the node's folder for pods, without symbolic links, so that it reads as in the list of mounts */
export function createVolumeHost(root: string): VolumeHost {
  return {
    make: (step) => (step.kind === 'folder' ? makeFolder(step) : step.kind === 'mount' ? makeMount(step) : use(step)),
    find: async (step) => {
      if (step.kind === 'mount') return (await isMounted(step.path)) ? managed(step.path) : undefined;
      if ((await statOf(step.path)) === undefined) return undefined;
      return step.kind === 'folder' ? managed(step.path) : { hostPath: step.path };
    },
    remove: (uid) => removeVolumes(root, uid),
    pods: () => podsWithVolumes(root),
  };
}

/** The node's own: it is made for this pod alone, so its files may get the containers' label. */
function managed(path: string): MountedVolume {
  return { hostPath: path, relabel: true };
}

/**
 * Under its own name the folder is there as a whole or not at all: the rights of one that is there are the pod's business,
 * and are not set again.
 */
async function makeFolder({ path, mode, gid }: Extract<VolumeStep, { kind: 'folder' }>): Promise<MountedVolume> {
  if ((await statOf(path)) !== undefined) return managed(path);
  const unfinished = `${path}${UNFINISHED}`;
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished);
  if (gid !== undefined) await chown(unfinished, -1, gid);
  // After the owner, whose change takes the set-group-ID bit away; and not in mkdir, where the umask would count.
  await chmod(unfinished, mode);
  await rename(unfinished, path);
  return managed(path);
}

/** One call gives the file system all its rights, so it is there as a whole or not at all. */
async function makeMount({ path, type, options }: Extract<VolumeStep, { kind: 'mount' }>): Promise<MountedVolume> {
  if (!(await isMounted(path))) {
    await mkdir(path, { recursive: true, mode: FOLDER_MODE });
    await mount({ type, source: type, target: path, options });
  }
  return managed(path);
}

async function use({ path, type }: Extract<VolumeStep, { kind: 'host' }>): Promise<MountedVolume> {
  const found = type === '' ? undefined : kindOf(await statOf(path));
  const step = hostPathStep(path, type, found);
  if (step.kind === 'refuse') throw new VolumeRefused('refused', step.error, { context: { path } });
  if (step.kind === 'make' && step.what === 'directory') await mkdir(path, { recursive: true, mode: step.mode });
  if (step.kind === 'make' && step.what === 'file') await (await open(path, 'a', step.mode)).close();
  return { hostPath: path };
}

async function removeVolumes(root: string, uid: string): Promise<void> {
  const folder = volumesFolder(root, uid);
  for (const { target } of await mountsBelow(folder)) await unmount(target);
  await removeTree(folder);
  // The rest of the pod's folder is others' business; the last one takes it away.
  await rmdir(podFolder(root, uid)).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  });
}

async function podsWithVolumes(root: string): Promise<string[]> {
  const uids = await readdir(podsFolder(root)).catch((error: unknown) => {
    if (hasErrno(error, 'ENOENT')) return [];
    throw error;
  });
  const found = await Promise.all(uids.map(async (uid) => ((await statOf(volumesFolder(root, uid))) ? [uid] : [])));
  return found.flat();
}

async function isMounted(path: string): Promise<boolean> {
  return (await listMounts()).some(({ target }) => target === path);
}

/** What is at the path, links followed; undefined when there is nothing. */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

function kindOf(stats: Stats | undefined): FileKind | undefined {
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) return 'directory';
  if (stats.isFile()) return 'file';
  if (stats.isSocket()) return 'socket';
  if (stats.isCharacterDevice()) return 'character device';
  return stats.isBlockDevice() ? 'block device' : 'other';
}
