// Everything below a folder is visited, however deep it is.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Held, removeTree, walkTree } from '../src/index.ts';

const DEPTH = process.env['KUBUS_TEST_SOAK'] === undefined ? 3_000 : 50_000;

let dir: string;
let root: Held;

beforeEach(async () => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-walk-')));
  root = await Held.open(dir);
});
afterEach(async () => {
  await root.close();
  await removeTree(dir);
});

/** Makes nested folders with a file in each. */
function nest(depth: number): void {
  const code = `for (let at = 0; at < ${depth}; at += 1) { fs.writeFileSync('f', ''); fs.mkdirSync('d'); process.chdir('d'); }`;
  execFileSync(process.execPath, ['-e', code], { cwd: dir });
}

const descriptors = () => readdirSync('/proc/self/fd').length;

test('every entry is visited once, a folder after its contents, with few open descriptors', async () => {
  nest(DEPTH);
  const before = descriptors();
  let [files, folders, most] = [0, 0, 0];
  await walkTree(root, {
    visit: ({ name, held }) => {
      if (held === undefined) files += 1;
      else folders += 1;
      expect(name).toBe(held === undefined ? 'f' : 'd');
      // The files of all folders come on the way down, before the deepest folder.
      expect(folders === 0 || files === DEPTH).toBe(true);
      if ((files + folders) % 100 === 0) most = Math.max(most, descriptors() - before);
      return Promise.resolve();
    },
    mounted: () => undefined,
  });
  expect([files, folders]).toEqual([DEPTH, DEPTH]);
  expect(most).toBeLessThan(60);
  expect(descriptors()).toBe(before);
});

test('what comes after a deep folder is visited through the folder that was opened again', async () => {
  nest(100);
  for (const name of ['a', 'z']) {
    mkdirSync(join(dir, 'd', name));
    writeFileSync(join(dir, 'd', name, 'inner'), '');
  }
  const seen: string[] = [];
  await walkTree(root, {
    visit: async ({ folder, name }) => {
      if (name === 'inner') seen.push(await folder.place());
    },
    mounted: () => undefined,
  });
  expect(seen.sort()).toEqual([join(dir, 'd/a'), join(dir, 'd/z')]);
});

test('a folder that is moved elsewhere meanwhile is no way to other folders', async () => {
  nest(100);
  mkdirSync(join(dir, 'elsewhere'));
  const before = descriptors();
  let files = 0;
  const walked = walkTree(root, {
    visit: ({ held }) => {
      if (held === undefined && (files += 1) === 90) {
        renameSync(join(dir, 'd/d/d'), join(dir, 'elsewhere/d'));
      }
      return Promise.resolve();
    },
    mounted: () => undefined,
  });
  await expect(walked).rejects.toThrow('was moved elsewhere while the folders were visited');
  expect(descriptors()).toBe(before);
});
