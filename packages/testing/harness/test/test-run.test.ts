// What `./kubus test` keeps from run to run, the order of its files, and how it shows its progress.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

interface Kept {
  readonly hash: string;
  readonly passed: number;
  readonly seconds: Readonly<Record<string, number>>;
}

interface Task {
  readonly package: string;
  readonly directory: string;
  readonly hash: string;
}

interface TestFile {
  readonly name: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
}

type TestRecord = Readonly<Record<string, Kept>>;

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly write: (text: string) => unknown;
}

const script = (name: string) => fileURLToPath(new URL(`../../../../scripts/${name}.mjs`, import.meta.url));
const { compare, readRecord, recordAfter, secondsOf, writeRecord } = (await import(script('test-record'))) as {
  compare: (tasks: readonly Task[], record: TestRecord) => { changed: Task[]; unchanged: Task[] };
  readRecord: (root: string) => TestRecord;
  recordAfter: (
    record: TestRecord,
    before: readonly Task[],
    after: readonly Task[],
    files: readonly TestFile[],
  ) => TestRecord;
  secondsOf: (record: TestRecord) => Record<string, number>;
  writeRecord: (root: string, record: TestRecord) => void;
};
const { inOrder, longest } = (await import(script('test-order'))) as {
  inOrder: (files: readonly string[], seconds: Readonly<Record<string, number>>) => string[];
  longest: readonly string[];
};
const { Progress, progressLine } = (await import(script('test-progress'))) as {
  Progress: new (output: Output, now: () => number) => { set: (line: string) => void; print: (text: string) => void };
  progressLine: (state: object) => string;
};

const a = { package: '@kubus/a', directory: 'packages/a', hash: 'a1' };
const ab = { package: '@kubus/ab', directory: 'packages/ab', hash: 'ab1' };
const kept: Kept = { hash: 'a1', passed: 3, seconds: { 'packages/a/x.test.ts': 2 } };
const ran = (name: string, failed = 0): TestFile => ({ name, seconds: 1.5, passed: 2, failed });

describe('the record of successful tests', () => {
  test('is empty at first, and is read back as written', () => {
    const root = mkdtempSync(join(tmpdir(), 'kubus-record-'));
    try {
      expect(readRecord(root)).toEqual({});
      writeRecord(root, { '@kubus/a': kept });
      expect(readRecord(root)).toEqual({ '@kubus/a': kept });
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  test('lists what has changed', () => {
    expect(compare([a, ab], { '@kubus/a': kept })).toEqual({ changed: [ab], unchanged: [a] });
    expect(compare([{ ...a, hash: 'a2' }], { '@kubus/a': kept })).toEqual({
      changed: [{ ...a, hash: 'a2' }],
      unchanged: [],
    });
  });

  test('has the seconds of each file', () => {
    const other = { ...kept, seconds: { y: 4, z: 5 } };
    expect(secondsOf({ '@kubus/a': kept, '@kubus/b': other })).toEqual({ 'packages/a/x.test.ts': 2, y: 4, z: 5 });
    expect(secondsOf({})).toEqual({});
  });

  test('keeps entries of files that did not run, and adds files that passed', () => {
    const files = [ran('packages/ab/p.test.ts'), ran('packages/ab/q.test.ts')];
    expect(recordAfter({ '@kubus/a': kept }, [a, ab], [a, ab], files)).toEqual({
      '@kubus/a': kept,
      '@kubus/ab': { hash: 'ab1', passed: 4, seconds: { 'packages/ab/p.test.ts': 1.5, 'packages/ab/q.test.ts': 1.5 } },
    });
  });

  test('adds nothing of a package with a failed file or with changes during its run, and drops a removed package', () => {
    const files = [ran('packages/a/x.test.ts'), ran('packages/a/y.test.ts', 1)];
    expect(recordAfter({ '@kubus/gone': kept }, [a], [a], files)).toEqual({});
    expect(recordAfter({}, [a], [{ ...a, hash: 'a2' }], [ran('packages/a/x.test.ts')])).toEqual({});
  });
});

describe('the order of the files', () => {
  test('is longest first, by their last duration', () => {
    expect(inOrder(['short', 'long', 'middle'], { short: 1, middle: 20, long: 90 })).toEqual([
      'long',
      'middle',
      'short',
    ]);
  });

  test('puts new files between long and short ones', () => {
    expect(inOrder(['b new', 'short', 'a new', 'long'], { short: 1, long: 90 })).toEqual([
      'long',
      'a new',
      'b new',
      'short',
    ]);
  });

  test('starts with the known longest files in a fresh clone', () => {
    const [first = '', second = ''] = longest;
    expect(inOrder(['new', second, first], {})).toEqual([first, second, 'new']);
    const root = new URL('../../../../', import.meta.url);
    expect(longest.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
  });
});

describe('progress', () => {
  const state = { what: 'packages', done: 3, of: 9, failed: 0, seconds: 12.4, running: [] };

  test('is one line', () => {
    expect(progressLine(state)).toBe('packages: file 3 of 9, 12 s');
    expect(progressLine({ ...state, failed: 1, running: ['a', 'b'] })).toBe(
      'packages: file 3 of 9, 1 failed, 12 s: a, b',
    );
  });

  test('is overwritten on a terminal, cut to its width', () => {
    const written: string[] = [];
    const progress = new Progress({ isTTY: true, columns: 5, write: (text) => written.push(text) }, () => 0);
    progress.set('123456');
    progress.print('FAIL');
    expect(written).toEqual(['\r\u001b[K1234', '\r\u001b[K', 'FAIL\n']);
  });

  test('is printed at intervals elsewhere; other output is always printed', () => {
    const written: string[] = [];
    let now = 0;
    const progress = new Progress({ write: (text) => written.push(text) }, () => now);
    for (; now <= 60_000; now += 10_000) progress.set(`at ${now}`);
    progress.print('FAIL');
    expect(written).toEqual(['at 30000\n', 'at 60000\n', 'FAIL\n']);
  });
});
