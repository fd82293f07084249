import type { PodRef } from '@kubus/contracts';
import { namesIn } from '@kubus/mount';
import { hasErrno } from '@kubus/ports';
import { mkdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Longest name of a file, in bytes. */
const MAX_NAME = 255;
const SUFFIX = '.log';

/** The log of one run of a container. */
export interface LinkedLog {
  readonly pod: PodRef;
  /** The container's name, and its id in the runtime. */
  readonly container: string;
  readonly id: string;
  /** Absolute path of the log. */
  readonly log: string;
}

/** The name under which log collectors expect a container's log (kubelet behaviour 1.7, log paths). */
export function logLinkName({ container, id, pod }: Omit<LinkedLog, 'log'>): string {
  const name = `${prefixOf(pod)}${container}-${id}`;
  return `${name.slice(0, MAX_NAME - SUFFIX.length)}${SUFFIX}`;
}

/** Links to a log from `folder`, which is made if it is missing. Harmless when the link is there. */
export async function linkLog(folder: string, linked: LinkedLog): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const path = join(folder, logLinkName(linked));
  if ((await targetOf(path)) === linked.log) return;
  await rm(path, { force: true });
  await symlink(linked.log, path);
}

/** Removes the link to the log of one run. Harmless when there is none. */
export function unlinkLog(folder: string, run: Omit<LinkedLog, 'log'>): Promise<void> {
  return rm(join(folder, logLinkName(run)), { force: true });
}

/**
 * Removes the links from `folder` to the logs of a pod, which lie in `logs`. Others' links stay: a pod of the same name may
 * have some of its own.
 */
export async function removeLogLinks(folder: string, pod: PodRef, logs: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (!name.startsWith(prefixOf(pod))) continue;
    const path = join(folder, name);
    if ((await targetOf(path))?.startsWith(`${logs}/`) === true) await rm(path, { force: true });
  }
}

function prefixOf({ name, namespace }: PodRef): string {
  return `${name}_${namespace}_`;
}

/** Where a link leads; undefined when there is none. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    // EINVAL: it is something else than a link.
    if (hasErrno(error, 'EINVAL', 'ENOENT')) return undefined;
    throw error;
  }
}
