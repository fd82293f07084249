import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import {
  type Stats,
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { holdsContent, writeContent } from '../../src/index.ts';
import type { KilledWriter } from './killed-writer.ts';

const run = promisify(execFile);

let dir: string;
let folder: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-writer-'));
  folder = join(dir, 'volume');
  mkdirSync(folder);
});
afterEach(() => rmSync(dir, { recursive: true }));

type Texts = Readonly<Record<string, string>>;

const filesOf = (texts: Texts) =>
  Object.entries(texts).map(([path, text]) => ({ path, data: Buffer.from(text), mode: 0o644 }));
const write = (texts: Texts) => writeContent(folder, filesOf(texts));

/** The texts of all files below `path`, following links; without names that start with two dots. */
function seen(path = folder, prefix = ''): Record<string, string> {
  const names = readdirSync(path).filter((name) => !name.startsWith('..'));
  return Object.fromEntries(
    names.flatMap((name) => {
      const inner = join(path, name);
      if (statSync(inner).isDirectory()) return Object.entries(seen(inner, `${prefix}${name}/`));
      return [[`${prefix}${name}`, readFileSync(inner, 'utf8')] as const];
    }),
  );
}

const own = () => readdirSync(folder).filter((name) => name.startsWith('..'));
const current = () => readlinkSync(join(folder, '..data'));
const facts = ({ mode, uid, gid }: Stats) => `${(mode & 0o7777).toString(8)} ${uid} ${gid}`;

test('files are links through ..data into a folder named by its time', async () => {
  expect(await holdsContent(folder)).toBe(false);
  await write({ a: '1', 'deep/er/b': '2', 'deep/c': '3' });
  expect(await holdsContent(folder)).toBe(true);
  expect(current()).toMatch(/^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\..+$/);
  expect(readdirSync(folder).sort()).toEqual([current(), '..data', 'a', 'deep'].sort());
  expect([readlinkSync(join(folder, 'a')), readlinkSync(join(folder, 'deep'))]).toEqual(['..data/a', '..data/deep']);
  expect(seen()).toEqual({ a: '1', 'deep/er/b': '2', 'deep/c': '3' });
  expect(facts(statSync(join(folder, '..data/deep')))).toBe('755 0 0');
});

test('files have their modes, owners and the group, whatever the umask', async () => {
  const umask = process.umask(0o077);
  const files = [
    { path: 'in/plain', data: Buffer.from('1'), mode: 0o664 },
    { path: 'token', data: Buffer.from('2'), mode: 0o640, uid: 1000 },
  ];
  try {
    await writeContent(folder, files, { gid: 1234 });
  } finally {
    process.umask(umask);
  }
  const there = (path: string) => facts(lstatSync(join(folder, path)));
  expect([there('..data/'), there('..data/in')]).toEqual(['2755 0 1234', '2755 0 1234']);
  expect([there('..data/in/plain'), there('..data/token')]).toEqual(['664 0 1234', '640 1000 1234']);
  expect(lstatSync(join(folder, 'token')).uid).toBe(1000);
});

describe('existing content', () => {
  const texts = { a: '1', 'b/c': '2' };
  let first: string;
  beforeEach(async () => {
    await write(texts);
    first = current();
  });

  test('is not rewritten if unchanged', async () => {
    await write(texts);
    expect(current()).toBe(first);
    expect(seen()).toEqual(texts);
  });

  test.each<[string, () => void]>([
    ['a text', () => writeFileSync(join(folder, first, 'a'), '0')],
    ['a mode', () => chmodSync(join(folder, first, 'a'), 0o600)],
    ['an extra file', () => writeFileSync(join(folder, first, 'b/d'), '')],
    ['an extra folder', () => mkdirSync(join(folder, first, 'e'))],
    ['a missing file', () => rmSync(join(folder, first, 'a'))],
    [
      'a link instead of a file',
      () => {
        rmSync(join(folder, first, 'a'));
        symlinkSync('b/c', join(folder, first, 'a'));
      },
    ],
  ])('with %s is rewritten', async (_, change) => {
    change();
    await write(texts);
    expect(current()).not.toBe(first);
    expect(seen()).toEqual(texts);
    expect(own().length).toBe(2);
  });

  test('gets a missing link back, and loses a link that points elsewhere', async () => {
    rmSync(join(folder, 'a'));
    rmSync(join(folder, 'b'));
    symlinkSync(dir, join(folder, 'b'));
    await write(texts);
    expect(current()).toBe(first);
    expect(seen()).toEqual(texts);
  });

  test('stays when new content cannot be written', async () => {
    // With the folder as prefix, the path is too long for the kernel.
    const tooLong = { x: '1', [`${'y/'.repeat(2045)}z`]: '2' };
    await expect(write(tooLong)).rejects.toThrow('ENAMETOOLONG');
    expect(seen()).toEqual(texts);
    expect(own().sort()).toEqual([first, '..data'].sort());
  });
});

test('mount points and links that the writer did not create stay', async () => {
  mkdirSync(join(folder, 'mounted/deep'), { recursive: true });
  symlinkSync('/nowhere', join(folder, 'link'));
  await write({ a: '1', 'mounted/b': '2' });
  await write({ b: '2' });
  expect(readdirSync(folder).filter((name) => !name.startsWith('..'))).toEqual(['b', 'link', 'mounted']);
});

test('a folder outside is neither read nor removed, wherever ..data points', async () => {
  const outside = join(dir, '..outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'a'), '1');
  for (const target of [outside, '../..outside', '..', '.', '..link']) {
    rmSync(join(folder, '..data'), { force: true });
    rmSync(join(folder, '..link'), { force: true });
    symlinkSync(target, join(folder, '..data'));
    symlinkSync(outside, join(folder, '..link'));
    await write({ a: '1' });
    expect(statSync(join(folder, '..data/a')).ino).not.toBe(statSync(join(outside, 'a')).ino);
    expect(readdirSync(outside)).toEqual(['a']);
  }
});

const name = fc.constantFrom('a', 'b', 'c', 'x.y');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
/** Contents in which no path is both a file and a folder. */
const contents = fc
  .dictionary(path, fc.string({ maxLength: 3 }), { maxKeys: 5 })
  .map((texts) =>
    Object.fromEntries(
      Object.entries(texts).filter(([one]) => !Object.keys(texts).some((other) => other.startsWith(`${one}/`))),
    ),
  );

test('after any writes only the last content exists', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(contents, { minLength: 1, maxLength: 5 }), async (sequence) => {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
      for (const texts of sequence) {
        await write(texts);
        expect(seen()).toEqual(texts);
        expect(own().sort()).toEqual([current(), '..data'].sort());
      }
    }),
    { numRuns: 60 },
  );
});

test('a writer that is killed before any of its steps leaves either the old files or the new ones', async () => {
  const before: Texts = { kept: 'old', 'dir/gone': 'old', gone: 'old' };
  const after: Texts = { kept: 'new', 'dir/new': 'new', new: 'new' };
  const program = join(import.meta.dirname, 'killed-writer.ts');
  /** The contents of the target of ..data. */
  const data = () => seen(join(folder, '..data'));
  const outcomes: string[] = [];
  for (let killAt = 1; ; killAt++) {
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    await write(before);
    const files = Object.entries(after).map(([path, text]) => ({ path, text }));
    const setup: KilledWriter = { folder, files, killAt };
    const ended = await run(process.execPath, ['--disable-warning=ExperimentalWarning', program, JSON.stringify(setup)])
      .then(() => 'done')
      .catch((error: unknown) => (error as { signal?: string }).signal);
    expect(['done', 'SIGKILL']).toContain(ended);
    const found = data();
    outcomes.push(found['kept'] ?? '');
    expect(found).toEqual(found['kept'] === 'old' ? before : after);
    if (ended === 'done') break;
    const last = { kept: 'last', gone: 'last' };
    await write(last);
    expect(seen()).toEqual(last);
    expect(own().sort()).toEqual([current(), '..data'].sort());
  }
  expect(outcomes.length).toBeGreaterThan(15);
  expect(outcomes).toEqual([...outcomes].sort().reverse());
});
