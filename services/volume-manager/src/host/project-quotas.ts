import { type ProjectUsage, editProjectFiles, giveProject, projectUsage } from '@kubus/filesystem';
import { ConcurrencyLimit } from '@kubus/flow';
import { type Logger, KubusError } from '@kubus/ports';
import {
  FIRST_PROJECT,
  type ProjectFiles,
  nextProject,
  podFolder,
  podsFolder,
  projectAt,
  projectFolders,
  withProject,
  withoutProjects,
} from '@kubus/volume';
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { statOf } from './file-stat.ts';

export interface ProjectQuotasOptions {
  /** The node's folder for pods. */
  readonly root: string;
  readonly logger: Logger;
  /** Folder of the machine's tables of projects. Default: /etc. */
  readonly tables?: string;
}

/** How many projects that no table has may be in use (behaviour:volumes, project quotas). */
const SEARCHED = 128;

/**
 * Projects of volumes, by which the kernel counts what they use (quota of ext4 and XFS; nothing is enforced). A project is recorded in the
 * machine's tables before it is given to a folder, and removed after the folder. Where there is no quota, volumes are measured without.
 */
export class ProjectQuotas {
  readonly #options: Required<ProjectQuotasOptions>;
  readonly #suffix: string;
  readonly #turns = new ConcurrencyLimit(1);
  /** The projects of folders, as in the tables: once these were read, all that volumes here have. */
  readonly #known = new Map<string, number>();
  #haveRead = false;

  constructor(options: ProjectQuotasOptions) {
    this.#options = { tables: '/etc', ...options };
    this.#suffix = `.kubus-${createHash('sha256').update(options.root).digest('hex').slice(0, 16)}`;
  }

  /**
   * Gives a folder a project, if that is possible.
   *
   * @param unfinished where the folder is now, still empty
   * @param folder where it will be
   */
  async assign(unfinished: string, folder: string): Promise<void> {
    try {
      // A folder that has a project belongs to a tree whose quota is that of a user: it cannot leave it.
      if (folder.includes('\n') || (await projectUsage(unfinished)) !== undefined) return;
      if ((await projectUsage(unfinished, FIRST_PROJECT)) === undefined) return;
      await giveProject(unfinished, await this.#turns.run(() => this.#record(folder, dirname(unfinished))));
    } catch (error) {
      this.#options.logger.warn({ err: error, folder }, 'a volume gets no project quota, and is measured without');
    }
  }

  /** What the files in a folder use, deleted ones that are still open included; undefined when it has no project of its own. */
  async usage(folder: string): Promise<ProjectUsage | undefined> {
    const usage = await projectUsage(folder);
    if (usage === undefined) return undefined;
    if (!this.#known.has(folder)) await this.#turns.run(() => this.#edit((files) => this.#learn(files)));
    return this.#known.get(folder) === usage.project ? usage : undefined;
  }

  /**
   * Frees the projects of a pod whose volumes have been removed; the tables are read for one that has some. What cannot be freed now is freed
   * at the next start.
   */
  async release(uid: string): Promise<void> {
    const above = `${podFolder(this.#options.root, uid)}/`;
    if (this.#haveRead && ![...this.#known.keys()].some((folder) => folder.startsWith(above))) return;
    await this.#remove((folder) => folder.startsWith(above));
  }

  /** Frees the projects of volumes that are missing. */
  async releaseMissing(): Promise<void> {
    const above = `${podsFolder(this.#options.root)}/`;
    await this.#remove(async (folder) => folder.startsWith(above) && (await statOf(folder)) === undefined);
  }

  async #record(folder: string, place: string): Promise<number> {
    let project: number | undefined;
    await this.#edit(async (files) => {
      project = projectAt(files, folder);
      if (project !== undefined) return undefined;
      project = await this.#unused(files, place);
      return withProject(files, folder, project);
    });
    if (project === undefined) throw new KubusError('no-project', `no project was chosen for ${folder}`);
    this.#known.set(folder, project);
    return project;
  }

  /** A project without files: they may outlive its line in the tables. */
  async #unused(files: ProjectFiles, place: string): Promise<number> {
    let project = FIRST_PROJECT - 1;
    for (let searched = 0; searched <= SEARCHED; searched += 1) {
      project = nextProject(files, project + 1);
      const usage = await projectUsage(place, project);
      if (usage?.bytes === 0 && usage.files === 0) return project;
    }
    throw new KubusError('no-project', 'cannot find available quota ID');
  }

  async #remove(isGone: (folder: string) => boolean | Promise<boolean>): Promise<void> {
    try {
      await this.#turns.run(() =>
        this.#edit(async (files) => {
          await this.#learn(files);
          const gone = new Set<string>();
          for (const folder of projectFolders(files)) if (await isGone(folder)) gone.add(folder);
          for (const folder of gone) this.#known.delete(folder);
          return withoutProjects(files, gone);
        }),
      );
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'projects of removed volumes cannot be freed');
    }
  }

  #learn(files: ProjectFiles): Promise<undefined> {
    for (const folder of projectFolders(files)) this.#known.set(folder, projectAt(files, folder) ?? 0);
    this.#haveRead = true;
    return Promise.resolve(undefined);
  }

  #edit(edit: (files: ProjectFiles) => Promise<ProjectFiles | undefined>): Promise<void> {
    return editProjectFiles(this.#options.tables, this.#suffix, edit);
  }
}
