import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

interface Task {
  readonly taskId: string;
  readonly command: string;
  readonly execution?: { readonly exitCode: number };
}

interface TestFile {
  readonly name: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly why: string;
}

interface Results {
  readonly tasks: readonly { readonly task: Task; readonly log: string }[];
  readonly files: readonly TestFile[];
  readonly unchanged: number;
  readonly broken: readonly string[];
  readonly table: readonly string[];
}

const script = new URL('../../../../scripts/test-summary.mjs', import.meta.url);
const { readFiles, slowest, summarise } = (await import(fileURLToPath(script))) as {
  readFiles: (json: object, root: string) => TestFile[];
  slowest: (
    files: readonly Pick<TestFile, 'name' | 'seconds'>[],
    count: number,
  ) => { seconds: number; lines: string[] };
  summarise: (results: Results) => { passed: number; failed: number; lines: string[] };
};

const nothing: Results = { tasks: [], files: [], unchanged: 0, broken: [], table: [] };

function file(name: string, more: Partial<TestFile> = {}): TestFile {
  return { name, seconds: 1, passed: 0, failed: 0, why: '', ...more };
}

function task(taskId: string, exitCode?: number): Task {
  return { taskId, command: 'run', ...(exitCode !== undefined && { execution: { exitCode } }) };
}

describe('the test files of a run', () => {
  const read = (result: object) =>
    readFiles(
      { testResults: [{ name: '/w/a/b.test.ts', startTime: 1_000, endTime: 3_500, message: '', ...result }] },
      '/w',
    );

  test('are listed with their paths, durations and results', () => {
    const tests = [
      { status: 'passed', fullName: 'one' },
      { status: 'failed', fullName: 'two' },
      { status: 'pending', fullName: 'three' },
    ];
    expect(read({ status: 'failed', message: '  ● two\n\n    why\n\n', assertionResults: tests })).toEqual([
      { name: 'a/b.test.ts', seconds: 2.5, passed: 1, failed: 1, why: '  ● two\n\n    why' },
    ]);
  });

  test('count as one failure if they could not be loaded', () => {
    const [loaded] = read({ status: 'failed', message: 'SyntaxError', assertionResults: [] });
    expect(loaded).toMatchObject({ passed: 0, failed: 1, why: 'SyntaxError' });
  });
});

test('the table has the slowest files and their total duration', () => {
  const files = [file('a', { seconds: 2 }), file('b', { seconds: 30.04 }), file('c', { seconds: 1 })];
  expect(slowest(files, 2)).toEqual({
    seconds: 32.04,
    lines: ['The 2 slowest of 3 files:', '    30.0 s  b', '     2.0 s  a', '    32.0 s  together'],
  });
});

describe('the summary', () => {
  test('adds up the tests that passed now and before, after the table', () => {
    const results = { ...nothing, files: [file('a', { passed: 3 }), file('b', { passed: 4 })], table: ['table'] };
    const checked = { ...results, tasks: [{ task: task('//#lint', 0), log: 'nothing' }] };
    expect(summarise(checked)).toEqual({ passed: 7, failed: 0, lines: ['table', '7 passed, 0 failed'] });
    expect(summarise({ ...checked, unchanged: 5 }).lines).toEqual([
      'unchanged since they passed: 5 tests',
      'table',
      '12 passed, 0 failed',
    ]);
  });

  test('counts failed tests, and one failure for each task that failed, did not run or broke', () => {
    const files = [file('a', { passed: 1, failed: 2, why: 'why a' }), file('b', { failed: 1, why: 'why b' })];
    const tasks = [
      { task: task('//#lint', 1), log: 'no' },
      { task: task('//#format:check'), log: '' },
    ];
    const { lines, ...counts } = summarise({ ...nothing, files, tasks, broken: ['too slow'] });
    expect(counts).toEqual({ passed: 1, failed: 6 });
    expect(lines).toEqual([
      ...['failed: //#lint', 'no', ''],
      ...['failed: a', 'why a', '', 'failed: b', 'why b', ''],
      ...['failed: //#lint', 'did not run: //#format:check', 'failed: a', 'failed: b', 'too slow'],
      '1 passed, 6 failed',
    ]);
  });

  test('shows the end of the log of a failed task, without colours', () => {
    const said = Array.from({ length: 50 }, (_, i) => `line ${i}`);
    const log = `\u001b[31m${said.join('\n')}\u001b[39m\n`;
    const { lines } = summarise({ ...nothing, tasks: [{ task: task('a#build', 2), log }] });
    expect(lines).toEqual(['failed: a#build', ...said.slice(-20), '', 'failed: a#build', '0 passed, 1 failed']);
  });

  test('omits tasks that a package does not have', () => {
    const tasks = [{ task: { ...task('a#generate'), command: '<NONEXISTENT>' }, log: '' }];
    expect(summarise({ ...nothing, tasks }).lines).toEqual(['0 passed, 0 failed']);
  });
});
