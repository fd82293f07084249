import { KubusError, ignoring } from '@kubus/ports';
import { rm } from 'node:fs/promises';
import { constants as system } from 'node:os';
import { join } from 'node:path';
import { type HelperAnswer, type HelperRequest, mountHelper } from './mount-helper.ts';
import { createRegular, openRegular } from './open-regular.ts';

/** Thrown when a project quota cannot be set or recorded. */
class ProjectQuotaError extends KubusError {}

/** What the files of a project use on their file system. */
export interface ProjectUsage {
  readonly project: number;
  readonly bytes: number;
  readonly files: number;
}

/** The texts of the machine's tables of projects (xfs_quota(8)). */
export interface ProjectQuotaFiles {
  /** Lines `PROJECT:FOLDER`. */
  readonly projects: string;
  /** Lines `NAME:PROJECT`. */
  readonly projid: string;
}

/** A file system that answers takes far less. */
const LIMIT_MS = 10_000;
/** Other programs write the same files. */
const TRIES = 16;
/** Of each table, in bytes. */
const MOST = 4 * 2 ** 20;

/**
 * Usage of a project on the file system of a folder, as the kernel counts it (ext4 and XFS, mounted with `prjquota`). Undefined when projects
 * are not counted there, or this process has no helper that can ask (see `useMountHelper`).
 *
 * @param project default: that of the folder; undefined when it has none
 */
export async function projectUsage(folder: string, project = 0): Promise<ProjectUsage | undefined> {
  const answer = await ask({ what: 'usage', target: folder, project });
  const [found, bytes, files] = answer?.values ?? [];
  if (answer?.outcome !== 'done' || found === undefined || bytes === undefined || files === undefined) return undefined;
  return { project: found, bytes, files };
}

/** From now on what is created in an empty folder belongs to the project. Rejects with ProjectQuotaError. */
export async function giveProject(folder: string, project: number): Promise<void> {
  const answer = await ask({ what: 'project', target: folder, project });
  if (answer?.outcome !== 'done') throw failure(`cannot give ${folder} the project ${project}`, answer);
}

/**
 * Changes the files `projects` and `projid` in a folder, usually /etc; missing ones are created. What another program has changed meanwhile
 * is kept.
 *
 * @param suffix of temporary files beside them: no other process has the same
 * @param edit their new texts; undefined: they stay. It may be called several times
 *
 * Rejects with ProjectQuotaError, or `NotRegular` when one of them is not a plain file.
 */
export async function editProjectFiles(
  folder: string,
  suffix: string,
  edit: (files: ProjectQuotaFiles) => Promise<ProjectQuotaFiles | undefined>,
): Promise<void> {
  const paths = { projects: join(folder, 'projects'), projid: join(folder, 'projid') };
  for (let left = TRIES; left > 0; left -= 1) {
    // Open until they are replaced, so that no other file gets their inode numbers.
    await using projects = await openTable(paths.projects);
    await using projid = await openTable(paths.projid);
    const changed = await edit({ projects: projects?.text ?? '', projid: projid?.text ?? '' });
    if (changed === undefined) return;
    if (projects === undefined || projid === undefined) {
      for (const path of Object.values(paths)) await (await ignoring('EEXIST', createRegular(path, 0o644)))?.close();
      continue;
    }
    const stamp = `${projects.stamp} ${projid.stamp}`;
    try {
      await write(`${paths.projects}${suffix}`, changed.projects, projects.mode);
      await write(`${paths.projid}${suffix}`, changed.projid, projid.mode);
      const answer = await ask({ what: 'projects', target: folder, suffix, stamp });
      if (answer?.outcome === 'done') return;
      if (answer?.errno !== system.errno.EAGAIN) throw failure(`cannot change the projects in ${folder}`, answer);
    } finally {
      for (const path of Object.values(paths)) await rm(`${path}${suffix}`, { force: true });
    }
  }
  throw new ProjectQuotaError('busy', `the projects in ${folder} are being changed by others`);
}

interface Table extends AsyncDisposable {
  readonly text: string;
  readonly mode: number;
  /** As the helper makes it. */
  readonly stamp: string;
}

async function openTable(path: string): Promise<Table | undefined> {
  const file = await ignoring('ENOENT', openRegular(path));
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat({ bigint: true });
    if (stats.size > MOST) throw new ProjectQuotaError('too-large', `${path} is larger than ${MOST} bytes`);
    return {
      text: await file.readFile('utf8'),
      mode: Number(stats.mode) & 0o777,
      stamp: `${stats.ino}:${stats.size}:${stats.mtimeNs}`,
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function write(path: string, text: string, mode: number): Promise<void> {
  await rm(path, { force: true });
  const file = await createRegular(path, mode);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

async function ask(request: HelperRequest): Promise<HelperAnswer | undefined> {
  return mountHelper()?.run(request, LIMIT_MS);
}

function failure(what: string, answer: HelperAnswer | undefined): ProjectQuotaError {
  const name = Object.entries(system.errno).find(([, errno]) => errno === answer?.errno)?.[0];
  const why = answer === undefined ? 'there is no mount helper' : (name ?? answer.outcome);
  return new ProjectQuotaError('quota', `${what}: ${why}`);
}
