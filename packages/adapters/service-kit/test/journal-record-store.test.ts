import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { KubusError, type LogFields, type Logger, silentLogger } from '@kubus/ports';
import * as fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalRecordStore } from '../src/index.ts';
import { TestProcess } from './test-process.ts';

let dir: string;
let path: string;
let stores: JournalRecordStore[];
/** What was logged, by level. */
let logged: { error: LogFields[]; warn: LogFields[] };

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-journal-'));
  path = join(dir, 'records.jsonl');
  stores = [];
  logged = { error: [], warn: [] };
});
afterEach(() => {
  for (const store of stores) store.close();
  rmSync(dir, { recursive: true });
});

function open(file = path): JournalRecordStore {
  const logger: Logger = {
    ...silentLogger,
    error: (fields) => logged.error.push(fields),
    warn: (fields) => logged.warn.push(fields),
  };
  const store = new JournalRecordStore({ path: file, logger });
  stores.push(store);
  return store;
}

/** The records that the next process finds. */
async function found(): Promise<Record<string, unknown>> {
  const records = await open().load();
  expect(new Set(await open().keys())).toEqual(new Set(records.keys()));
  return Object.fromEntries(records);
}

const line = (key: string, value: unknown) => `${JSON.stringify({ key, value })}\n`;

const keys = fc.oneof(
  fc.constantFrom('a', 'b', '', '"', '\\', '\n', 'a":"b'),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const values = fc.jsonValue({ maxDepth: 2 });
const changes = fc.record({ key: keys, value: fc.option(values, { nil: undefined }), awaited: fc.boolean() });

test('records are read as they were last written, whatever keys, values and turns are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { maxLength: 12 }), fc.nat(12), async (history, restartAt) => {
      rmSync(path, { force: true });
      const wanted = new Map<string, unknown>();
      let store = open();
      const written: Promise<void>[] = [];
      for (const [at, { key, value, awaited }] of history.entries()) {
        written.push(value === undefined ? store.delete(key) : store.put(key, value));
        if (value === undefined) wanted.delete(key);
        else wanted.set(key, JSON.parse(JSON.stringify(value)));
        if (awaited || at === restartAt) await Promise.all(written);
        if (at === restartAt) store = open();
      }
      await Promise.all(written);
      expect(await store.load()).toEqual(wanted);
      expect(await open().load()).toEqual(wanted);
      for (const [key, value] of wanted) expect(await store.read(key)).toEqual(value);
      for (const one of stores.splice(0)) one.close();
    }),
    { numRuns: 100 },
  );
  expect(logged).toEqual({ error: [], warn: [] });
});

test('what one turn changes is one write, and nothing is resolved before it', async () => {
  const store = open();
  const first = store.put('a', 1);
  const others = [store.put('b', 2), store.put('a', 3), store.delete('b')];
  expect(readdirSync(dir)).toEqual([]);
  await first;
  expect(readFileSync(path, 'utf8')).toBe(`${line('a', 1)}${line('b', 2)}${line('a', 3)}{"key":"b","removed":true}\n`);
  await Promise.all(others);
  expect([await store.read('a'), await store.read('b')]).toEqual([3, undefined]);
});

test('a value that is no JSON fails alone', async () => {
  const store = open();
  const written = [store.put('a', 1), store.put('b', 1n), store.put('c', 3)];
  expect((await Promise.allSettled(written)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(await found()).toEqual({ a: 1, c: 3 });
});

test('removing a record that does not exist is harmless and writes nothing', async () => {
  const store = open();
  await store.delete('a');
  expect(readdirSync(dir)).toEqual([]);
});

test('folder and file are accessible to the owner only, also after the file was written anew', async () => {
  path = join(dir, 'new/state/records.jsonl');
  const store = open();
  await store.put('a', 1);
  expect([statSync(join(path, '..')).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
  const { ino } = statSync(path);
  for (let number = 0; statSync(path).ino === ino; number++) await store.put('a', 'x'.repeat(50_000));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

describe('an interrupted write', () => {
  const before = `${line('a', 1)}${line('b', 'ä')}`;
  const last = line('a', { text: 'two\nlines, "quoted", ä' });

  test('is cut at whichever byte it ends, and the next write follows the last whole line', async () => {
    const bytes = Buffer.from(before + last);
    for (let cut = Buffer.byteLength(before); cut < bytes.length; cut++) {
      writeFileSync(path, bytes.subarray(0, cut));
      const store = open();
      expect(Object.fromEntries(await store.load())).toEqual({ a: 1, b: 'ä' });
      // Reading changes nothing: another process may be writing.
      expect(statSync(path).size).toBe(cut);
      await store.put('c', 3);
      expect(readFileSync(path, 'utf8')).toBe(`${before}${line('c', 3)}`);
    }
    expect(logged.error).toEqual([]);
    expect(logged.warn).toHaveLength(Buffer.byteLength(last) - 1);
  });

  test('leaves the records of the whole lines, for any journal that is cut anywhere', async () => {
    const histories = fc.array(fc.record({ key: keys, value: values }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(histories, fc.double({ min: 0, max: 1, noNaN: true }), async (history, where) => {
        const lines = history.map(({ key, value }) => Buffer.from(line(key, value)));
        const bytes = Buffer.concat(lines);
        const cut = Math.floor(where * bytes.length);
        let whole = 0;
        const wanted = new Map<string, unknown>();
        for (const [at, { key, value }] of history.entries()) {
          whole += lines[at]?.length ?? 0;
          if (whole <= cut) wanted.set(key, JSON.parse(JSON.stringify(value)));
        }
        writeFileSync(path, bytes.subarray(0, cut));
        expect(await open().load()).toEqual(wanted);
      }),
      { numRuns: 300 },
    );
    expect(logged.error).toEqual([]);
  });
});

describe('a damaged line', () => {
  const good = [line('a', 1), line('b', 2), line('c', 3)] as const;

  test.each([
    ['has no end', '{"key":"b","value":{"x":', 'b'],
    ['is of another form', '{"key":"b","other":1}', 'b'],
    ['has a damaged value', '{"key":"b","value":\u0000\u0000}', 'b'],
    ['has a key with an escape', '{"key":"b\\u0031","value":!}', 'b1'],
    ['has a damaged key', '{"kez":"b","value":2}', undefined],
    ['is empty', '', undefined],
    ['consists of NUL bytes', '\u0000'.repeat(20), undefined],
    ['is no UTF-8', Buffer.from([0xff, 0xfe, 0x80]), undefined],
    ['is a list', '[1]', undefined],
  ])('that %s is reported by number; it stays in the file, and so do the other records', async (_, bytes, key) => {
    const damaged = Buffer.concat([Buffer.from(good[0] + good[1]), Buffer.from(bytes), Buffer.from(`\n${good[2]}`)]);
    writeFileSync(path, damaged);
    const store = open();
    const records = Object.fromEntries(await store.load());
    // The value before a damaged one would be wrong.
    expect(records).toEqual({ a: 1, c: 3, ...(key !== 'b' && { b: 2 }) });
    expect(logged.error).toEqual([{ path, line: 3, key, err: expect.any(Error) }]);
    await store.put('d', 4);
    expect(readFileSync(path)).toEqual(Buffer.concat([damaged, Buffer.from(line('d', 4))]));
    expect(await found()).toEqual({ ...records, d: 4 });
  });

  test('does not hide what is written to its record later, and is kept when the file is written anew', async () => {
    writeFileSync(path, `${good[0]}{"key":"b",\n${good[2]}`);
    const store = open();
    await store.put('b', 5);
    const { ino } = statSync(path);
    while (statSync(path).ino === ino) await store.put('big', 'x'.repeat(50_000));
    await store.put('big', 'small');
    expect(await found()).toEqual({ a: 1, b: 5, c: 3, big: 'small' });
    expect(readFileSync(path, 'utf8').split('\n')[0]).toBe('{"key":"b",');
  });

  test('at the end of the file does not damage the next one', async () => {
    writeFileSync(path, `${good[0]}not of this service`);
    const store = open();
    await store.put('b', 2);
    expect(readFileSync(path, 'utf8')).toBe(`not of this service\n${good[0]}${good[1]}`);
    expect(await found()).toEqual({ a: 1, b: 2 });
  });

  test('affects no other record, whatever it is and wherever it stands', async () => {
    const bytes = fc
      .uint8Array({ maxLength: 30 })
      .map((some) => Buffer.from(some).map((one) => (one === 10 ? 11 : one)));
    await fc.assert(
      fc.asyncProperty(fc.nat(3), bytes, async (at, some) => {
        const lines = good.map((text) => Buffer.from(text.trimEnd()));
        lines.splice(at, 0, Buffer.from(some));
        writeFileSync(path, Buffer.concat(lines.flatMap((one) => [one, Buffer.from('\n')])));
        logged.error = [];
        expect(await found()).toEqual({ a: 1, b: 2, c: 3 });
        expect(logged.error).toContainEqual(expect.objectContaining({ line: at + 1 }));
      }),
      { numRuns: 100 },
    );
  });
});

describe('a journal that has grown', () => {
  test('is written anew: it stays within a bound and has every record', async () => {
    const store = open();
    for (let number = 0; number < 30; number++) await store.put(`stays ${number}`, { number, text: 'x'.repeat(1000) });
    let largest = 0;
    for (let number = 0; number < 1500; number++) {
      await store.put(`pod ${number}`, 'y'.repeat(1000));
      await store.delete(`pod ${number}`);
      largest = Math.max(largest, statSync(path).size);
    }
    expect(largest).toBeGreaterThan(256 * 1024);
    expect(largest).toBeLessThan(256 * 1024 + 3 * 32 * 1000);
    expect((await open().keys()).sort()).toEqual(Array.from({ length: 30 }, (_, number) => `stays ${number}`).sort());
    expect(readdirSync(dir)).toEqual(['records.jsonl']);
  });

  const old = `${line('a', 1)}${line('a', 2)}${line('b', 3)}`;
  const next = `${line('a', 2)}${line('b', 3)}`;

  test.each([
    ['nothing was written', old, ''],
    ['a part was written', old, next.slice(0, 20)],
    ['one line was written', old, line('a', 2)],
    ['everything was written', old, next],
    ['it was renamed', next, undefined],
  ])('is complete when the process was killed after %s', async (_, file, part) => {
    writeFileSync(path, file);
    if (part !== undefined) writeFileSync(`${path}.part`, part);
    expect(await found()).toEqual({ a: 2, b: 3 });
    const store = open();
    const { ino } = statSync(path);
    while (statSync(path).ino === ino) await store.put('a', 'x'.repeat(50_000));
    await store.put('a', 4);
    expect(await found()).toEqual({ a: 4, b: 3 });
    expect(readdirSync(dir)).toEqual(['records.jsonl']);
    expect(logged).toEqual({ error: [], warn: [] });
  });

  test('of a killed writer has the last record or the next one, complete', async () => {
    for (let round = 0; round < 6; round++) {
      const writer = new TestProcess('journal-writer.ts', [path]);
      try {
        // A different time in each round; sometimes the writer is in the middle of a line or of a new file.
        await writer.line(({ number }) => Number(number) > 3 * round);
      } finally {
        await writer.kill();
      }
      const written = Number(writer.said.at(-1)?.['number']);
      const record = (await found())['pod/a'] as { number: number; text: string };
      expect([written, written + 1]).toContain(record.number);
      expect(record.text).toBe(String(record.number % 10).repeat(100_000));
    }
    expect(logged.error).toEqual([]);
  });
});

describe('a file that is not as it was left', () => {
  test('is written anew with every record when it was removed', async () => {
    const store = open();
    await store.put('a', 1);
    await store.put('b', 2);
    rmSync(path);
    await store.delete('b');
    expect(readdirSync(dir)).toEqual([]);
    await store.put('c', 3);
    expect(await found()).toEqual({ a: 1, c: 3 });
  });

  test.each([
    ['removed', () => rmSync(path)],
    ['shortened', () => truncateSync(path, 5)],
  ])('is written anew with every record when it was %s between reading and writing', async (_, change) => {
    writeFileSync(path, `${line('a', 1)}${line('b', 2)}`);
    const store = open();
    await store.load();
    change();
    await store.put('c', 3);
    expect(await found()).toEqual({ a: 1, b: 2, c: 3 });
  });

  test('is refused by name when it is too large or no file', async () => {
    writeFileSync(path, '');
    truncateSync(path, 64 * 1024 * 1024 + 1);
    const message = `the journal ${path} cannot be read: 67108865 bytes are more than 67108864`;
    await expect(open().load()).rejects.toMatchObject({ code: 'state-folder', message, context: { path } });
    await expect(open().put('a', 1)).rejects.toThrow(message);
    rmSync(path);
    mkdirSync(path);
    await expect(open().load()).rejects.toThrow(`the journal ${path} cannot be read: EISDIR`);
  });

  test('refuses changes while its folder is missing, and is complete afterwards', async () => {
    path = join(dir, 'folder/records.jsonl');
    const store = open();
    await store.put('a', 1);
    rmSync(join(path, '..'), { recursive: true });
    await expect(store.put('a', 2)).rejects.toThrow(`the journal ${path} cannot be written: ENOENT`);
    expect(await store.read('a')).toBe(1);
    mkdirSync(join(path, '..'));
    await store.put('b', 3);
    expect(await found()).toEqual({ a: 1, b: 3 });
  });
});

describe('a full disk', () => {
  let disk: string;

  beforeEach(() => {
    disk = join(dir, 'disk');
    path = join(disk, 'records.jsonl');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'kubus-test', disk]);
  });
  afterEach(() => {
    for (const store of stores) store.close();
    execFileSync('umount', [disk]);
  });

  test('keeps the previous record, and the error names the file', async () => {
    const store = open();
    await store.put('a', 'small');
    const failed = store.put('a', 'x'.repeat(2_000_000));
    await expect(failed).rejects.toThrow(KubusError);
    const message = expect.stringContaining(`the journal ${path} cannot be written: ENOSPC`);
    await expect(failed).rejects.toMatchObject({ code: 'state-folder', message, context: { path } });
    expect(readFileSync(path, 'utf8')).toBe(line('a', 'small'));
    expect(await store.read('a')).toBe('small');
    await store.put('a', 'small again');
    expect(await found()).toEqual({ a: 'small again' });
  });

  test('lets a journal grow that cannot be written anew', async () => {
    const store = open();
    const value = 'x'.repeat(1000);
    // The file is due to be written anew, and ends shortly after the start of a page.
    do await store.put('a', value);
    while (statSync(path).size < 256 * 1024);
    expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(2_000_000))).toThrow('ENOSPC');
    for (const number of [1, 2, 3]) await store.put('a', number);
    await store.put('a', value);
    await store.put('a', 4);
    expect(await found()).toEqual({ a: 4 });
    expect(logged.warn).toEqual([{ path, err: expect.objectContaining({ code: 'ENOSPC' }) }]);
    expect(readdirSync(disk).sort()).toEqual(['filler', 'records.jsonl']);
  });
});
