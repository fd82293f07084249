import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { KubusError, type LogFields, type Logger, silentLogger } from '@kubus/ports';
import * as fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileRecordStore, JournalRecordStore } from '../src/index.ts';
import { Reserve } from '../src/reserve.ts';
import { TestProcess } from './test-process.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-records-'));
});
afterEach(() => rm(dir, { recursive: true }));

const open = (folder = dir, logger: Logger = silentLogger) => new FileRecordStore({ dir: folder, logger });

test('records are read as they were written, whatever their keys are', async () => {
  const key = fc.oneof(
    fc.constantFrom('', '.', '..', 'a/b', 'a.json', 'a.part'),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );
  const records = fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
  await fc.assert(
    fc.asyncProperty(records, async (wanted) => {
      const folder = await mkdtemp(join(dir, 'run-'));
      const store = open(folder);
      for (const [name, value] of Object.entries(wanted)) await store.put(name, value);
      const expected = new Map(
        Object.entries(wanted).map(([name, value]) => [name, JSON.parse(JSON.stringify(value)) as unknown]),
      );
      expect(new Set(await open(folder).keys())).toEqual(new Set(Object.keys(wanted)));
      expect(await open(folder).load()).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});

test('a record is replaced and removed; removing a missing record is harmless', async () => {
  const store = open();
  await store.put('a', 1);
  await store.put('a', 2);
  await store.put('b', 3);
  expect([await store.read('a'), await store.read('c')]).toEqual([2, undefined]);
  await store.delete('b');
  await store.delete('b');
  expect([...(await open().load())]).toEqual([['a', 2]]);
  expect(await readdir(dir)).toEqual(['a.json']);
});

test('the folder and its records are accessible to the owner only', async () => {
  const folder = join(dir, 'new/state');
  await open(folder).put('a', 1);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, 'a.json'))).mode & 0o777).toBe(0o600);
});

test('a killed writer leaves either the last record or the next one, complete', async () => {
  for (let round = 0; round < 6; round++) {
    const writer = new TestProcess('record-writer.ts', [dir]);
    try {
      // A different time in each round; sometimes the writer is in the middle of a file.
      await writer.line(({ number }) => Number(number) > round);
    } finally {
      await writer.kill();
    }
    const written = Number(writer.said.at(-1)?.['number']);
    const record = (await open().load()).get('pod/a') as { number: number; text: string };
    expect([written, written + 1]).toContain(record.number);
    expect(record.text).toHaveLength(400_000 * String(record.number).length);
    expect(await readdir(dir)).toEqual(['pod=2Fa.json']);
  }
});

test('a write continues when a starting instance removes its temporary file as a leftover', async () => {
  const part = join(dir, 'pod=2Fa.json.part');
  const writer = new TestProcess('record-writer.ts', [dir]);
  const written = (count: number) => writer.said.length >= count;
  try {
    for (let count = 1; count <= 40; count++) {
      const line = writer.line(({ number }) => Number(number) >= count);
      let removed = false;
      while (!removed && !written(count)) {
        removed = await rm(part).then(
          () => true,
          () => false,
        );
      }
      await line;
    }
  } finally {
    await writer.kill();
  }
});

test('a temporary file left by a crash is removed, and an unreadable record is reported and skipped', async () => {
  const errors: LogFields[] = [];
  await open().put('good', { a: 1 });
  await writeFile(join(dir, 'good.json.part'), '{"a":');
  await writeFile(join(dir, 'bad.json'), '{"a":');
  const store = open(dir, { ...silentLogger, error: (fields) => errors.push(fields) });
  expect((await store.keys()).sort()).toEqual(['bad', 'good']);
  expect([...(await store.load())]).toEqual([['good', { a: 1 }]]);
  expect(errors).toEqual([{ path: join(dir, 'bad.json'), err: expect.any(SyntaxError) }]);
  // Files that a user may want to inspect are kept.
  expect((await readdir(dir)).sort()).toEqual(['bad.json', 'good.json']);
});

describe('a full disk', () => {
  let disk: string;

  beforeEach(async () => {
    disk = join(dir, 'disk');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'kubus-test', disk]);
  });
  afterEach(() => {
    execFileSync('umount', [disk]);
  });

  test('keeps the previous record, and the error names the file', async () => {
    const store = open(disk);
    await store.put('a', 'small');
    const failed = store.put('a', 'x'.repeat(100_000));
    await expect(failed).rejects.toThrow(KubusError);
    const path = join(disk, 'a.json');
    const message = expect.stringContaining(`the state record ${path} cannot be written: ENOSPC`);
    await expect(failed).rejects.toMatchObject({ code: 'state-folder', message, context: { path } });
    expect(await readdir(disk)).toEqual(['a.json']);
    expect((await store.load()).get('a')).toBe('small');
    await store.put('a', 'small again');
    expect((await store.load()).get('a')).toBe('small again');
  });

  test('that others have filled still takes what was reserved beforehand, until there is room again', async () => {
    execFileSync('mount', ['-o', 'remount,size=2m', disk]);
    const path = join(disk, 'reserve');
    const reserve = new Reserve(path, silentLogger);
    const store = new FileRecordStore({ dir: join(disk, 'records'), logger: silentLogger, reserve });
    const journal = new JournalRecordStore({ path: join(disk, 'journal.jsonl'), logger: silentLogger, reserve });
    await store.put('a', 'before');
    expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(4_000_000))).toThrow('ENOSPC');
    for (let n = 0; n < 20; n++) {
      await store.put(`pod-${n}`, 'x'.repeat(4000));
      await journal.put(`pod-${n}`, 'y'.repeat(1000));
    }
    await store.put('a', 'during');
    expect((await store.load()).get('a')).toBe('during');
    expect([(await store.keys()).length, (await journal.keys()).length]).toEqual([21, 20]);
    expect(existsSync(path)).toBe(false);
    journal.close();
    await rm(join(disk, 'filler'));
    // As at the next start of the service.
    new Reserve(path, silentLogger);
    expect(existsSync(path)).toBe(true);
  });
});
