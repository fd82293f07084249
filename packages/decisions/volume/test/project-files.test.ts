// The machine's tables of projects: the lines of volumes come and go, those of users stay.
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  FIRST_PROJECT,
  type ProjectFiles,
  nextProject,
  projectAt,
  projectFolders,
  withProject,
  withoutProjects,
} from '../src/index.ts';

const users: ProjectFiles = {
  projects: `# of users\n7:/srv/data\nnot a line\n${FIRST_PROJECT + 1}:/srv/more`,
  projid: `# of users\ndata:7\nlate:${FIRST_PROJECT + 2}\n#off:${FIRST_PROJECT}\n`,
};

test('the first project is the least that neither table has', () => {
  expect(nextProject({ projects: '', projid: '' }, FIRST_PROJECT)).toBe(FIRST_PROJECT);
  expect(nextProject(users, FIRST_PROJECT)).toBe(FIRST_PROJECT);
  expect(nextProject(users, FIRST_PROJECT + 1)).toBe(FIRST_PROJECT + 3);
});

test('a folder has a line in each table, as the reference writes them', () => {
  const { projects, projid } = withProject(users, '/pods/a', FIRST_PROJECT);
  expect(projects).toBe(`${users.projects}\n1048577:/pods/a\n`);
  expect(projid).toBe(`${users.projid}volume1048577:1048577\n`);
  expect(projectAt({ projects, projid }, '/pods/a')).toBe(FIRST_PROJECT);
  expect(projectAt({ projects, projid }, '/pods/b')).toBeUndefined();
  expect(projectFolders({ projects, projid })).toEqual(['/srv/more', '/pods/a']);
});

test('a project that other folders have keeps its name', () => {
  const both = withProject({ projects: `${FIRST_PROJECT}:/other\n`, projid: '' }, '/pods/a', FIRST_PROJECT);
  expect(withoutProjects(both, new Set(['/pods/a']))).toEqual({
    projects: `${FIRST_PROJECT}:/other\n`,
    projid: `volume${FIRST_PROJECT}:${FIRST_PROJECT}\n`,
  });
});

test('projects of users are not removed', () => {
  expect(withoutProjects(users, new Set(['/srv/data']))).toBeUndefined();
});

test('whatever the order, volumes that have come and gone leave the tables as they were', () => {
  const folders = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(folders, folders, (come, first) => {
      const ended = { ...users, projects: `${users.projects}\n` };
      let files: ProjectFiles = ended;
      for (const one of come) files = withProject(files, `/pods/${one}`, nextProject(files, FIRST_PROJECT));
      const ids = projectFolders(files).map((folder) => projectAt(files, folder));
      expect(new Set(ids).size).toBe(come.length + 1);
      const groups = [first, come].map((all) => new Set(all.map((one) => `/pods/${one}`)));
      for (const gone of groups) files = withoutProjects(files, gone) ?? files;
      expect(files).toEqual(ended);
    }),
  );
});
