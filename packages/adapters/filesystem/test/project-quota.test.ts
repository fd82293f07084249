// The machine's tables of projects, changed by several processes at once.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { editProjectFiles, giveProject, projectUsage, useMountHelper } from '../src/index.ts';

const source = fileURLToPath(new URL('../native/mount-helper.c', import.meta.url));
const programs = mkdtempSync(join(tmpdir(), 'kubus-mount-helper-'));
let dir: string;

beforeAll(() => {
  const program = join(programs, 'mount-helper');
  execFileSync('cc', ['-std=c11', '-O2', '-Wall', '-Wextra', '-Werror', '-static', source, '-o', program]);
  useMountHelper(program);
});
afterAll(() => rmSync(programs, { recursive: true }));
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-projects-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const read = (name: string) => readFileSync(join(dir, name), 'utf8');
const add = (line: string, suffix = '.one') =>
  editProjectFiles(dir, suffix, (files) =>
    Promise.resolve({ projects: `${files.projects}${line}\n`, projid: `${files.projid}n${line}\n` }),
  );

test('missing tables are created, and keep their mode', async () => {
  await editProjectFiles(dir, '.one', () => Promise.resolve(undefined));
  expect(readdirSync(dir)).toEqual([]);
  await add('1');
  expect([read('projects'), read('projid')]).toEqual(['1\n', 'n1\n']);
  expect(statSync(join(dir, 'projects')).mode & 0o777).toBe(0o644);
  chmodSync(join(dir, 'projid'), 0o640);
  await add('2');
  expect([read('projects'), read('projid')]).toEqual(['1\n2\n', 'n1\nn2\n']);
  expect(statSync(join(dir, 'projid')).mode & 0o777).toBe(0o640);
  expect(readdirSync(dir).sort()).toEqual(['projects', 'projid'].sort());
});

test('what another process has changed meanwhile is kept', async () => {
  await add('1');
  let calls = 0;
  await editProjectFiles(dir, '.one', async (files) => {
    calls += 1;
    // As the reference does it: by renaming, or within the file.
    if (calls === 1) await add('2', '.two');
    if (calls === 2) writeFileSync(join(dir, 'projid'), `${files.projid}n3\n`);
    return { projects: `${files.projects}4\n`, projid: `${files.projid}n4\n` };
  });
  expect(calls).toBe(3);
  expect([read('projects'), read('projid')]).toEqual(['1\n2\n4\n', 'n1\nn2\nn3\nn4\n']);
});

test('a lock of another process is awaited', async () => {
  await add('1');
  const script = 'echo held; read go; echo 2 >>"$0/projects"; echo n2 >>"$0/projid"';
  const holder = spawn('flock', [join(dir, 'projects'), 'sh', '-c', script, dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  const edit = { done: false };
  const edited = add('3').then(() => {
    edit.done = true;
  });
  const waits = new RegExp(`-> FLOCK .*:${statSync(join(dir, 'projects')).ino} `);
  while (!edit.done && !waits.test(readFileSync('/proc/locks', 'utf8'))) await setImmediate();
  expect(edit.done).toBe(false);
  holder.stdin.end('go\n');
  await edited;
  expect(read('projects')).toBe('1\n2\n3\n');
});

test('a link in place of a table is not followed', async () => {
  writeFileSync(join(dir, 'elsewhere'), 'kept');
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'projects'));
  await expect(add('1')).rejects.toMatchObject({ code: 'not-regular' });
  expect(read('elsewhere')).toBe('kept');
});

test('without a quota, there is no usage and no project', async () => {
  expect(await projectUsage(dir)).toBeUndefined();
  expect(await projectUsage('/proc', 1_048_577)).toBeUndefined();
  await expect(giveProject(join(dir, 'missing'), 1_048_577)).rejects.toThrow('missing the project 1048577: ENOENT');
});
