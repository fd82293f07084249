import type { PodRef } from '@kubus/contracts';
import { namesIn } from '@kubus/filesystem';
import { hasErrno } from '@kubus/ports';
import { mkdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Maximum length of a file name, in bytes. */
const MAX_NAME = 255;
const SUFFIX = '.log';

/** The log of one run of a container. */
export interface LinkedLog {
  readonly pod: PodRef;
  /** The container's name, and its ID in the runtime. */
  readonly container: string;
  readonly id: string;
  /** Absolute path of the log. */
  readonly log: string;
}

/** The name under which log collectors expect a container's log (behaviour:labels-paths-logs, log paths). */
function logLinkName({ container, id, pod }: Omit<LinkedLog, 'log'>): string {
  const name = `${prefixOf(pod)}${container}-${id}`;
  return `${name.slice(0, MAX_NAME - SUFFIX.length)}${SUFFIX}`;
}

/** Creates a link to a log in `folder`, which is created if it is missing. Does nothing when the link exists. */
export async function linkLog(folder: string, linked: LinkedLog): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const path = join(folder, logLinkName(linked));
  if ((await targetOf(path)) === linked.log) return;
  await rm(path, { force: true });
  await symlink(linked.log, path);
}

/** Removes the link to the log of one run. Does nothing when the link does not exist. */
export function unlinkLog(folder: string, run: Omit<LinkedLog, 'log'>): Promise<void> {
  return rm(join(folder, logLinkName(run)), { force: true });
}

/**
 * Removes the links in `folder` to the logs of a pod, which lie in `logs`. Links to other logs stay: a pod of the same
 * name may have its own.
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

/** The target of a link; undefined when the link does not exist. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    // EINVAL: it is not a link.
    if (hasErrno(error, 'EINVAL', 'ENOENT')) return undefined;
    throw error;
  }
}
