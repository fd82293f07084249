import type { PodRef } from '@kubus/contracts';
import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
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

/**
 * Removes the links from `folder` to logs of a pod, of which the one with the path `log` or those in the folder of that
 * path are meant. Others' links stay: a pod of the same name may have some of its own.
 */
export async function removeLogLinks(folder: string, pod: PodRef, log: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => missingIs<string[]>(error, []));
  for (const name of names) {
    if (!name.startsWith(prefixOf(pod))) continue;
    const path = join(folder, name);
    const target = await targetOf(path);
    if (target === log || target?.startsWith(`${log}/`) === true) await rm(path, { force: true });
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
    // EINVAL: something else than a link.
    if ((error as NodeJS.ErrnoException).code === 'EINVAL') return undefined;
    missingIs(error, undefined);
    return;
  }
}

function missingIs<T>(error: unknown, value: T): T {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value;
  throw error;
}
