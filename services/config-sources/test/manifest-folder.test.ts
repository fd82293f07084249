import { execFileSync } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  open,
  readlink,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Cancel, Clock } from '@kubus/ports';
import { MemoryRecords } from '@kubus/ports/testing';
import { ConfigSources, FileManifestFolder, type FolderListing, ManifestFileError, SourceMerge } from '../src/index.ts';
import { foldersToWatch } from '../src/watched-folders.ts';
import { Follower, manifestOf, silent } from './doubles.ts';

let base: string;
const cleanUp: Cancel[] = [];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'kubus-manifests-'));
});

afterEach(async () => {
  for (const cancel of cleanUp.splice(0)) cancel();
  await rm(base, { recursive: true, force: true });
});

function folderAt(path: string): FileManifestFolder {
  return new FileManifestFolder({ path, logger: silent });
}

/** `name: text` of every file, and `name! message` of every error. */
function summary({ files, errors, missing }: FolderListing): string[] {
  if (missing) return ['missing'];
  const named = (path: string) => relative(base, path);
  return [
    ...files.map(({ path, text }) => `${named(path)}: ${text}`),
    ...errors.map(({ path, error }) => `${named(path)}! ${error.message.replaceAll(`${base}/`, '')}`),
  ].sort();
}

const changes: Readonly<Record<string, (path: string) => void>> = {
  'removed and made again': (path) => {
    unlinkSync(path);
    writeFileSync(path, 'a');
  },
  'moved out and in again': (path) => {
    renameSync(path, `${base}/out`);
    renameSync(`${base}/out`, path);
  },
  'replaced by another one': (path) => {
    writeFileSync(`${base}/new`, 'a');
    renameSync(`${base}/new`, path);
  },
  'written anew': (path) => {
    truncateSync(path);
    writeFileSync(path, 'a');
  },
};

test.each([
  ['removed and made again', ['f']],
  ['moved out and in again', ['f']],
  ['replaced by another one', []],
  ['written anew', []],
])('a file that is %s: whether its removal is reported', async (change, returned) => {
  const manifests = join(base, 'm');
  await mkdir(manifests);
  await writeFile(join(manifests, 'f'), 'a');
  const folder = folderAt(manifests);
  let notified: () => void = () => undefined;
  const tell = () => new Promise<void>((resolve) => (notified = resolve));
  const watched = tell();
  cleanUp.push(folder.onChange(() => notified()));
  await watched;
  await folder.read();
  changes[change]?.(join(manifests, 'f'));
  // Once this file is reported, so is what happened before.
  writeFileSync(join(manifests, 'last'), '');
  const paths: string[] = [];
  for (let files = 1; files < 2;) {
    await tell();
    await new Promise((resolve) => setImmediate(resolve));
    const listing = await folder.read();
    files = listing.files.length;
    paths.push(...listing.returned);
  }
  expect(paths.map((path) => relative(manifests, path))).toEqual(returned);
});

/**
 * Follows a folder: `until` waits for a change to be reported, and for nothing else, and reads then, until it reads
 * what is expected. A change that was reported before the last successful read does not count.
 */
function follow(path: string): (expected: readonly string[]) => Promise<void> {
  const folder = folderAt(path);
  let notified = 0;
  let seen = 0;
  let wake: () => void = () => undefined;
  cleanUp.push(
    folder.onChange(() => {
      notified++;
      wake();
    }),
  );
  return async (expected) => {
    for (;;) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (notified > seen) resolve();
      });
      seen = notified;
      if (JSON.stringify(summary(await folder.read())) === JSON.stringify(expected)) return;
    }
  };
}

describe('a read', () => {
  test('returns the files of the folder without hidden files and folders, and an error for each unreadable one', async () => {
    await writeFile(join(base, 'a.yaml'), 'A');
    await writeFile(join(base, '.hidden'), 'x');
    await writeFile(join(base, 'no-text'), Buffer.from([0xc3, 0x28]));
    await mkdir(join(base, 'sub'));
    await writeFile(join(base, 'sub', 'deep.yaml'), 'x');
    await symlink('sub/deep.yaml', join(base, 'link.yaml'));
    await symlink('nowhere', join(base, 'dangling.yaml'));
    await symlink('round', join(base, 'round'));
    execFileSync('mkfifo', [join(base, 'pipe')]);
    await writeFile(join(base, 'large'), '');
    await truncate(join(base, 'large'), 10 * 1024 * 1024 + 1);
    await writeFile(join(base, 'largest'), '');
    await truncate(join(base, 'largest'), 10 * 1024 * 1024);

    const listing = await folderAt(base).read();
    const short = listing.files.map(({ path, text }) => ({
      path,
      text: text.length > 10 ? `${text.length} bytes` : text,
    }));
    expect(summary({ ...listing, files: short })).toEqual([
      'a.yaml: A',
      'dangling.yaml! dangling.yaml: a link to nowhere, which does not exist',
      'large! large: 10485761 bytes are more than a manifest may have (10485760)',
      'largest: 10485760 bytes',
      'link.yaml: x',
      'no-text! no-text: not UTF-8 text',
      'pipe! pipe: not a regular file',
      expect.stringMatching(/^round! round: .*ELOOP/),
    ]);
    for (const { error } of listing.errors) expect(error).toBeInstanceOf(ManifestFileError);
  });

  test('reports a file whose name is not UTF-8', async () => {
    await writeFile(Buffer.concat([Buffer.from(`${base}/web-`), Buffer.of(0xff), Buffer.from('.yaml')]), 'A');
    await writeFile(join(base, 'wéb.yaml'), 'B');
    const listing = await folderAt(base).read();
    expect(summary(listing)).toEqual(['web-\ufffd.yaml! web-\ufffd.yaml: its name is not UTF-8', 'wéb.yaml: B']);
  });

  test('returns the first files, as many as a folder may have, and how many there are beyond', async () => {
    const names = Array.from({ length: 103 }, (_, at) => `m${String(at).padStart(3, '0')}`);
    for (const name of names) writeFileSync(join(base, name), '');
    const { files, errors } = await new FileManifestFolder({ path: base, logger: silent, maxFiles: 20 }).read();
    expect(files.map(({ path }) => relative(base, path)).sort()).toEqual(names.slice(0, 20));
    expect(errors.map(({ path, error }) => [path, error.message])).toEqual([
      [base, `${base}: 83 files are not read: a folder may have 20`],
    ]);
  });

  test('returns no more than 32 MiB, of the same files each time', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await writeFile(join(base, name), '');
      await truncate(join(base, name), name === 'e' ? 1024 : 10 * 1024 * 1024);
    }
    const folder = folderAt(base);
    for (let read = 0; read < 2; read++) {
      const { files, errors } = await folder.read();
      expect(files.map(({ path }) => relative(base, path)).sort()).toEqual(['a', 'b', 'c', 'e']);
      expect(errors.map(({ error }) => error.message)).toEqual([
        `${base}/d: not read: manifests of one folder may have 33554432 bytes`,
      ]);
    }
  });

  test('returns one file', async () => {
    await writeFile(join(base, 'a.yaml'), 'A');
    await writeFile(join(base, 'b.yaml'), 'B');
    expect(summary(await folderAt(join(base, 'a.yaml')).read())).toEqual(['a.yaml: A']);
  });

  test('returns a changed file whose size and modification time are the same', async () => {
    const path = join(base, 'a.yaml');
    const folder = folderAt(base);
    const at = new Date(0);
    for (const text of ['A', 'B', 'C']) {
      await writeFile(path, text);
      await utimes(path, at, at);
      expect(summary(await folder.read())).toEqual([`a.yaml: ${text}`]);
      expect(summary(await folder.read())).toEqual([`a.yaml: ${text}`]);
    }
  });

  test('of a missing path reports it as missing', async () => {
    await writeFile(join(base, 'file'), '');
    expect(summary(await folderAt(join(base, 'none')).read())).toEqual(['missing']);
    expect(summary(await folderAt(join(base, 'file', 'in')).read())).toEqual(['missing']);
  });

  test('rejects when the folder cannot be listed', async () => {
    await symlink('b', join(base, 'a'));
    await symlink('a', join(base, 'b'));
    const reading = folderAt(join(base, 'a')).read();
    await expect(reading).rejects.toBeInstanceOf(ManifestFileError);
    await expect(reading).rejects.toMatchObject({ code: 'manifest-folder', context: { path: join(base, 'a') } });
  });
});

describe('changes are reported', () => {
  test('of files: written, rewritten, renamed into place, removed', async () => {
    const until = follow(base);
    await until([]);
    await writeFile(join(base, 'a'), 'A');
    await until(['a: A']);
    await writeFile(join(base, 'a'), 'AA');
    await until(['a: AA']);
    await writeFile(join(base, '.b'), 'B');
    await rename(join(base, '.b'), join(base, 'b'));
    await until(['a: AA', 'b: B']);
    await unlink(join(base, 'a'));
    await until(['b: B']);
  });

  test('of a file that grows step by step', async () => {
    const until = follow(base);
    const file = await open(join(base, 'a'), 'w');
    try {
      await until(['a: ']);
      await file.write('1');
      await until(['a: 1']);
      await file.write('2');
      await until(['a: 12']);
    } finally {
      await file.close();
    }
  });

  test('of the folder and its parents: created, removed, created again, moved away', async () => {
    const path = join(base, 'x', 'y', 'manifests');
    const until = follow(path);
    await until(['missing']);
    for (const text of ['1', '2']) {
      await mkdir(path, { recursive: true });
      await until([]);
      await writeFile(join(path, 'a'), text);
      await until([`x/y/manifests/a: ${text}`]);
      await rm(join(base, 'x'), { recursive: true });
      await until(['missing']);
    }
    await mkdir(path, { recursive: true });
    await writeFile(join(path, 'a'), '3');
    await until(['x/y/manifests/a: 3']);
    await rename(join(base, 'x'), join(base, 'z'));
    await until(['missing']);
    await rename(join(base, 'z'), join(base, 'x'));
    await until(['x/y/manifests/a: 3']);
    await writeFile(join(path, 'a'), '4');
    await until(['x/y/manifests/a: 4']);
  });

  test('of a ConfigMap volume', async () => {
    const volume = join(base, 'volume');
    const publish = async (version: string) => {
      await mkdir(join(volume, `..${version}`));
      await writeFile(join(volume, `..${version}`, 'a'), version);
      const old = await readlink(join(volume, '..data')).catch(() => undefined);
      await symlink(`..${version}`, join(volume, '..new'));
      await rename(join(volume, '..new'), join(volume, '..data'));
      if (old !== undefined) await rm(join(volume, old), { recursive: true });
    };
    await mkdir(volume);
    await publish('v1');
    await symlink('..data/a', join(volume, 'a'));
    const whole = follow(volume);
    const inside = follow(join(volume, '..data'));
    for (const version of ['v1', 'v2', 'v3']) {
      if (version !== 'v1') await publish(version);
      await whole([`volume/a: ${version}`]);
      await inside([`volume/..data/a: ${version}`]);
    }
  });

  test('of a link that is changed to another folder', async () => {
    for (const name of ['one', 'two']) {
      await mkdir(join(base, name));
      await writeFile(join(base, name, 'a'), name);
    }
    await symlink('one', join(base, 'link'));
    const until = follow(join(base, 'link'));
    await until(['link/a: one']);
    await symlink(join(base, 'two'), join(base, 'new'));
    await rename(join(base, 'new'), join(base, 'link'));
    await until(['link/a: two']);
    await writeFile(join(base, 'two', 'a'), '2');
    await until(['link/a: 2']);
  });

  test('of one file that is replaced, removed and created again', async () => {
    const until = follow(join(base, 'a'));
    await until(['missing']);
    await writeFile(join(base, 'a'), '1');
    await until(['a: 1']);
    await writeFile(join(base, 'new'), '2');
    await rename(join(base, 'new'), join(base, 'a'));
    await until(['a: 2']);
    await unlink(join(base, 'a'));
    await until(['missing']);
    await writeFile(join(base, 'a'), '3');
    await until(['a: 3']);
  });
});

test('the folders to watch are those on the path, from the root down', async () => {
  await mkdir(join(base, 'real', 'in'), { recursive: true });
  await symlink('real', join(base, 'link'));
  const watched = await foldersToWatch(join(base, 'link', 'in', 'none', 'x'));
  const own = [...watched].filter(([path]) => path.startsWith(base));
  expect(own.map(([path, { names, content }]) => [relative(base, path), [...names], content])).toEqual([
    ['', ['link', 'real'], false],
    ['real', ['in'], false],
    ['real/in', ['none'], false],
  ]);
  expect([...watched.keys()][0]).toBe('/');
  expect((await foldersToWatch(join(base, 'link', 'in'))).get(join(base, 'real', 'in'))).toMatchObject({
    content: true,
  });
});

test('a manifest that is written step by step becomes a pod, and a half-written one stops no pod', async () => {
  const follower = new Follower();
  let wake: () => void = () => undefined;
  const output = new Proxy(follower, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver);
      queueMicrotask(() => wake());
      return member;
    },
  });
  const clock: Clock = {
    now: () => performance.timeOrigin + performance.now(),
    after: (ms, action) => {
      const timer = setTimeout(action, ms);
      return () => clearTimeout(timer);
    },
  };
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise<void>((resolve) => (wake = resolve));
  };
  const file = { folder: folderAt(base) };
  const taker = new SourceMerge({ registered: ['file'], output, logger: silent });
  const sources = new ConfigSources({ node: 'n', clock, logger: silent, records: new MemoryRecords(), taker, file });
  cleanUp.push(() => sources.stop());
  await sources.start();

  const text = manifestOf('a');
  const handle = await open(join(base, 'a.yaml'), 'w');
  try {
    await handle.write(text.slice(0, 40));
    await until(() => (follower.manifests.get(join(base, 'a.yaml'))?.errors.length ?? 0) > 0);
    expect(follower.running).toEqual([]);
    await handle.write(text.slice(40));
    await until(() => follower.running.length > 0);
    await handle.truncate(40);
    await until(() => (follower.manifests.get(join(base, 'a.yaml'))?.errors.length ?? 0) > 0);
    expect(follower.running).toEqual(['a-n=i']);
  } finally {
    await handle.close();
  }
  await unlink(join(base, 'a.yaml'));
  await until(() => follower.running.length === 0);
  expect(follower.log.at(-1)).toBe('REMOVE a-n');
});
