import {
  Held,
  bindMount,
  checkAnswers,
  createRegular,
  isMounted,
  mountsBelow,
  openWithin,
  removeTree,
  unmount,
} from '@kubus/filesystem';
import { ignoring } from '@kubus/ports';
import { subPathPlace, subPathsFolder } from '@kubus/volume';
import { lstat, mkdir, rmdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SubPath } from '../ports.ts';
import { type UnmountOptions, unmountOrForce } from '../host/unmount-or-force.ts';

/** Modes of mount points, as in the kubelet. */
const FOLDER_MODE = 0o750;
const FILE_MODE = 0o640;
/** How long a volume's server may take to answer, in milliseconds. */
const ANSWER_MS = 20_000;

/**
 * Mounts a part of a volume at a place from which the container runtime takes it (behaviour:volumes, subPath): the
 * runtime resolves paths, and a process that can write to the volume could redirect them. An existing mount of the
 * same file stays.
 *
 * @param root the node's folder for pods, without symbolic links
 */
export async function makeSubPath(root: string, { hostPath, path, ...place }: SubPath): Promise<string> {
  const target = subPathPlace(root, place);
  await checkAnswers(hostPath, ANSWER_MS);
  const part = await openWithin(hostPath, path);
  try {
    while (await isMounted(target)) {
      if ((await part.identity()) === (await identityOf(target))) return target;
      await unmount(target);
    }
    await makePlace(target, (await part.stat()).isDirectory());
    await bindMount(part.pathForOthers, target);
    return target;
  } finally {
    await part.close();
  }
}

/** Undoes {@link makeSubPath} for all containers of a pod. Throws while one is in use. */
export async function removeSubPaths(root: string, uid: string, unmounting: UnmountOptions): Promise<void> {
  const folder = subPathsFolder(root, uid);
  for (let [last] = await mountsBelow(folder); last !== undefined; [last] = await mountsBelow(folder)) {
    await unmountOrForce(last.target, unmounting);
  }
  await removeTree(folder);
}

async function identityOf(path: string): Promise<string> {
  const held = await Held.open(path);
  try {
    return await held.identity();
  } finally {
    await held.close();
  }
}

/** An empty folder or file; replaces one of the other type, left by an earlier volume at this path. */
async function makePlace(target: string, isFolder: boolean): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: FOLDER_MODE });
  const present = await ignoring('ENOENT', lstat(target));
  if (present?.isDirectory() === isFolder) return;
  if (present !== undefined) await (present.isDirectory() ? rmdir(target) : unlink(target));
  if (isFolder) await mkdir(target, { mode: FOLDER_MODE });
  else await (await createRegular(target, FILE_MODE)).close();
}
