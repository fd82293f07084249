// Ownership of real files.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mount, removeTree } from '@kubus/filesystem';
import type { Clock } from '@kubus/ports';
import fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { applyOwnership } from '../src/host/ownership.ts';
import { makeRoot, removeRoot } from './test-root.ts';

const GID = 4321;

let dir: string;
let volume: string;
let reported: string[];
beforeEach(() => {
  dir = makeRoot();
  volume = join(dir, 'u1/volume');
  mkdirSync(volume, { recursive: true });
  reported = [];
});
afterEach(() => removeRoot(dir));

/** A clock that does not advance. */
const noTime: Clock = { now: () => 0, after: () => () => {} };
const apply = (options: { readOnly?: boolean; policy?: string; clock?: Clock } = {}) => {
  const { clock = noTime, ...rest } = options;
  const progress = { clock, uid: 'u1', report: (message: string) => void reported.push(message) };
  return applyOwnership(volume, { gid: GID, readOnly: false, ...rest }, progress);
};
const bits = (path: string) => lstatSync(path).mode & 0o7777;

type Tree = { readonly mode: number } & ({ readonly link: true } | { readonly children?: readonly Tree[] });

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    fc.record({ mode: fc.integer({ min: 0, max: 0o7777 }) }),
    fc.record({ mode: fc.constant(0), link: fc.constant(true as const) }),
    fc.record({ mode: fc.integer({ min: 0, max: 0o7777 }), children: fc.array(tie('tree'), { maxLength: 12 }) }),
  ),
}));

function grow(path: string, node: Tree, outside: string): void {
  if ('link' in node) {
    symlinkSync(outside, path);
    return;
  }
  if (node.children === undefined) writeFileSync(path, '');
  else {
    mkdirSync(path);
    node.children.forEach((child, index) => grow(join(path, `n${index}`), child, outside));
  }
  chmodSync(path, node.mode);
}

function check(path: string, node: Tree, readOnly: boolean): number {
  expect(lstatSync(path).gid).toBe(GID);
  if ('link' in node) return 1;
  const needed = (readOnly ? 0o440 : 0o660) | (node.children === undefined ? 0 : 0o2110);
  expect(bits(path)).toBe(node.mode | needed);
  const below = (node.children ?? []).map((child, index) => check(join(path, `n${index}`), child, readOnly));
  return below.reduce((sum, count) => sum + count, 1);
}

test('every file of any tree gets the group and its permissions, and no target of a link does', async () => {
  const outside = join(dir, 'outside');
  writeFileSync(outside, '', { mode: 0o600 });
  await fc.assert(
    fc.asyncProperty(fc.array(tree, { maxLength: 20 }), fc.boolean(), async (children, readOnly) => {
      rmSync(volume, { recursive: true, force: true });
      const whole = { mode: 0o755, children };
      grow(volume, whole, outside);
      const { files, failure } = await apply({ readOnly });
      expect(failure).toBeUndefined();
      expect(files).toBe(check(volume, whole, readOnly));
      expect([bits(outside), statSync(outside).gid]).toEqual([0o600, 0]);
      expect(await apply({ readOnly, policy: 'OnRootMismatch' })).toEqual({ files: 0 });
    }),
    { numRuns: 60 },
  );
});

test('with OnRootMismatch the volume’s root folder decides', async () => {
  writeFileSync(join(volume, 'file'), '', { mode: 0o600 });
  await apply();
  lchownSync(join(volume, 'file'), 0, 0);
  await apply({ policy: 'OnRootMismatch' });
  expect(lstatSync(join(volume, 'file')).gid).toBe(0);
  chmodSync(volume, 0o2750);
  await apply({ policy: 'OnRootMismatch' });
  expect(lstatSync(join(volume, 'file')).gid).toBe(GID);
});

test('mounts inside the volume, also of the same file system or of a single file, are not changed', async () => {
  mkdirSync(join(dir, 'other'));
  writeFileSync(join(dir, 'other/file'), '', { mode: 0o600 });
  mkdirSync(join(volume, 'mounted'));
  writeFileSync(join(volume, 'mounted-file'), '');
  await mount({ type: 'none', source: join(dir, 'other'), target: join(volume, 'mounted'), options: ['bind'] });
  const [source, target] = [join(dir, 'other/file'), join(volume, 'mounted-file')];
  await mount({ type: 'none', source, target, options: ['bind'] });
  await apply();
  expect([bits(join(dir, 'other')), bits(source), lstatSync(source).gid]).toEqual([0o755, 0o600, 0]);
});

test('files that vanish meanwhile are not an error', async () => {
  for (let index = 0; index < 40; index += 1) {
    mkdirSync(join(volume, `d${index}/e`), { recursive: true });
    for (let file = 0; file < 20; file += 1) writeFileSync(join(volume, `d${index}/e/f${file}`), '');
  }
  const removing = readdirSync(volume).map((name) => rm(join(volume, name), { recursive: true, force: true }));
  const { failure } = await apply();
  expect(failure).toBeUndefined();
  await Promise.all(removing);
});

test('a process that swaps files and folders for links meanwhile changes nothing outside of the volume', async () => {
  const outside = join(dir, 'outside');
  mkdirSync(outside, { mode: 0o700 });
  writeFileSync(join(outside, 'f'), '', { mode: 0o600 });
  mkdirSync(join(volume, 'd'));
  writeFileSync(join(volume, 'd/f'), '');
  let done = false;
  // Turns of the same thread fall between any two calls of the walk.
  const swap = () => {
    if (done) return;
    renameSync(join(volume, 'd'), join(volume, 'kept'));
    symlinkSync(outside, join(volume, 'd'));
    setImmediate(() => {
      unlinkSync(join(volume, 'd'));
      renameSync(join(volume, 'kept'), join(volume, 'd'));
      renameSync(join(volume, 'd/f'), join(volume, 'd/kept'));
      symlinkSync(join(outside, 'f'), join(volume, 'd/f'));
      setImmediate(() => {
        unlinkSync(join(volume, 'd/f'));
        renameSync(join(volume, 'd/kept'), join(volume, 'd/f'));
        chmodSync(join(volume, 'd/f'), 0o600);
        setImmediate(swap);
      });
    });
  };
  swap();
  for (let round = 0; round < 300; round += 1) await apply();
  done = true;
  expect([bits(outside), statSync(outside).gid]).toEqual([0o700, 0]);
  expect([bits(join(outside, 'f')), statSync(join(outside, 'f')).gid]).toEqual([0o600, 0]);
});

test('a long change is reported to the pod’s user, and then periodically', async () => {
  writeFileSync(join(volume, 'file'), '');
  const waits: number[] = [];
  const hasty: Clock = {
    now: () => 0,
    after: (ms, action) => {
      waits.push(ms);
      if (waits.length <= 2) queueMicrotask(action);
      return () => {};
    },
  };
  await apply({ clock: hasty });
  expect(waits).toEqual([30_000, 60_000, 60_000]);
  expect(reported).toEqual([
    expect.stringContaining('Setting volume ownership for u1/volume is taking longer than expected'),
    'Setting volume ownership for u1/volume, processed 0 files.',
  ]);
});

test('every folder gets the group, also where no path reaches it', async () => {
  const down = (each: string) => `for (let at = 0; at < 2500; at += 1) { ${each} process.chdir('d'); }`;
  execFileSync(process.execPath, ['-e', down("fs.mkdirSync('d');")], { cwd: volume });
  expect(await apply()).toEqual({ files: 2501 });
  const deepest = `${down('')} console.log(fs.statSync('.').gid)`;
  expect(execFileSync(process.execPath, ['-e', deepest], { cwd: volume, encoding: 'utf8' })).toBe(`${GID}\n`);
  await removeTree(join(volume, 'd'));
});
