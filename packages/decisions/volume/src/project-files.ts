/** The machine's tables of projects, /etc/projects and /etc/projid (xfs_quota(8)). */
export interface ProjectFiles {
  /** Lines `PROJECT:FOLDER`. */
  readonly projects: string;
  /** Lines `NAME:PROJECT`. */
  readonly projid: string;
}

/** The reference gives volumes projects from here on; lower ones are those of users. */
export const FIRST_PROJECT = 1_048_577;

const FOLDER_LINE = /^(\d+):(.*)$/;
const NAME_LINE = /^[^#:][^:]*:(\d+)$/;

/** The project of a folder. */
export function projectAt({ projects }: ProjectFiles, folder: string): number | undefined {
  return foldersOf(projects).find((line) => line.folder === folder)?.project;
}

/** The folders of volumes that have projects. */
export function projectFolders({ projects }: ProjectFiles): string[] {
  return foldersOf(projects)
    .filter(({ project }) => project >= FIRST_PROJECT)
    .map(({ folder }) => folder);
}

/** The least project from `from` on that no table has. */
export function nextProject({ projects, projid }: ProjectFiles, from: number): number {
  const names = projid.split('\n').map((line) => Number(NAME_LINE.exec(line)?.[1]));
  const taken = new Set([...names, ...foldersOf(projects).map(({ project }) => project)]);
  let project = from;
  while (taken.has(project)) project += 1;
  return project;
}

/** The tables with a project for a folder, as the reference writes them. */
export function withProject({ projects, projid }: ProjectFiles, folder: string, project: number): ProjectFiles {
  return {
    projects: `${ended(projects)}${project}:${folder}\n`,
    projid: `${ended(projid)}volume${project}:${project}\n`,
  };
}

/** The tables without the projects of these folders; undefined: there are none. Other lines stay as they are. */
export function withoutProjects(files: ProjectFiles, folders: ReadonlySet<string>): ProjectFiles | undefined {
  const all = foldersOf(files.projects);
  const isGone = ({ project, folder }: FolderLine) => project >= FIRST_PROJECT && folders.has(folder);
  if (!all.some(isGone)) return undefined;
  const kept = new Set(all.filter((line) => !isGone(line)).map(({ project }) => project));
  const freed = new Set(all.filter(isGone).flatMap(({ project }) => (kept.has(project) ? [] : [project])));
  return {
    projects: without(files.projects, (line) => {
      const parsed = folderLine(line);
      return parsed !== undefined && isGone(parsed);
    }),
    projid: without(files.projid, (line) => freed.has(Number(NAME_LINE.exec(line)?.[1]))),
  };
}

interface FolderLine {
  readonly project: number;
  readonly folder: string;
}

function folderLine(line: string): FolderLine | undefined {
  const [, project, folder] = FOLDER_LINE.exec(line) ?? [];
  return project === undefined || folder === undefined ? undefined : { project: Number(project), folder };
}

function foldersOf(projects: string): FolderLine[] {
  return projects.split('\n').flatMap((line) => folderLine(line) ?? []);
}

function without(text: string, isGone: (line: string) => boolean): string {
  return text
    .split('\n')
    .filter((line) => !isGone(line))
    .join('\n');
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
