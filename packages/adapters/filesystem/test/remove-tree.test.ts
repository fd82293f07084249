// What a pod can leave behind is removed, or named.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NotRemoved, mount, removeTree, unmountBelow } from '../src/index.ts';

/** As many as a pod made in the attack, with `--soak`. */
const [DEPTH, WIDTH] = process.env['KUBUS_TEST_SOAK'] === undefined ? [3_000, 1_000] : [50_000, 100_000];

let dir: string;
let tree: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-remove-')));
  tree = join(dir, 'tree');
  mkdirSync(tree);
});
afterEach(async () => {
  await unmountBelow(dir);
  execFileSync('chattr', ['-R', '-f', '-ia', dir]);
  rmSync(dir, { recursive: true });
});

/** Makes folders that are nested so deep that no path reaches the last one. */
function nest(folder: string, depth: number): void {
  const code = `for (let at = 0; at < ${depth}; at += 1) { fs.mkdirSync('d'); process.chdir('d'); } fs.writeFileSync('last', '')`;
  execFileSync(process.execPath, ['-e', code], { cwd: folder });
}

const descriptors = () => readdirSync('/proc/self/fd').length;

test('a folder is removed however deep it is, with few open descriptors', async () => {
  nest(tree, DEPTH);
  mkdirSync(join(tree, 'other'));
  nest(join(tree, 'other'), 100);
  const before = descriptors();
  let most = 0;
  let done = false;
  const look = () => {
    most = Math.max(most, descriptors());
    if (!done) setTimeout(look, 5);
  };
  look();
  await removeTree(tree);
  done = true;
  expect(existsSync(tree)).toBe(false);
  expect(most - before).toBeLessThan(100);
});

test('a folder is removed however wide it is', async () => {
  const make = `seq ${WIDTH} | xargs mkdir; seq -f f%.f ${WIDTH} | xargs touch`;
  execFileSync('sh', ['-c', make], { cwd: tree });
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
});

test('what cannot be removed is named, and everything else is removed', async () => {
  mkdirSync(join(tree, 'a/b'), { recursive: true });
  for (const name of ['a/first', 'a/held', 'a/b/other', 'last']) writeFileSync(join(tree, name), '');
  execFileSync('chattr', ['+i', join(tree, 'a/held')]);
  const removed = removeTree(tree);
  await expect(removed).rejects.toThrow(NotRemoved);
  await expect(removed).rejects.toThrow(
    `${tree} is not removed: ${tree}/a/held cannot be removed (EPERM; it or its folder may be immutable: see lsattr(1) and chattr(1))`,
  );
  expect([readdirSync(tree), readdirSync(join(tree, 'a'))]).toEqual([['a'], ['held']]);
  execFileSync('chattr', ['-i', join(tree, 'a/held')]);
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
});

test('the content of an immutable folder is named', async () => {
  mkdirSync(join(tree, 'a'));
  writeFileSync(join(tree, 'a/file'), '');
  execFileSync('chattr', ['+i', join(tree, 'a')]);
  await expect(removeTree(tree)).rejects.toThrow(`${tree}/a/file cannot be removed (EPERM`);
});

test('what is mounted deeper than folders are emptied in place is not removed', async () => {
  const folders = Array.from({ length: 30 }, () => 'd').join('/');
  mkdirSync(join(tree, folders), { recursive: true });
  mkdirSync(join(dir, 'source'));
  writeFileSync(join(dir, 'source/file'), 'kept');
  await mount({ type: 'none', source: join(dir, 'source'), target: join(tree, folders), options: ['bind'] });
  await expect(removeTree(tree)).rejects.toThrow(`${tree} is not removed: ${tree}/${folders} is a mount`);
  expect(readdirSync(join(dir, 'source'))).toEqual(['file']);
});

test('what cannot exist counts as removed', async () => {
  await removeTree(join(dir, 'a'.repeat(300)));
  await removeTree(join(dir, 'a'.repeat(300), 'b'));
  await removeTree(join(dir, 'none', 'b'));
});

test('a link is removed, and not what it leads to', async () => {
  symlinkSync(tree, join(dir, 'link'));
  await removeTree(join(dir, 'link'));
  expect(readdirSync(dir)).toEqual(['tree']);
});
