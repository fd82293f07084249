import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

interface Result {
  readonly task: { taskId: string; command: string; execution?: { exitCode: number } };
  readonly log: string;
}

const script = new URL('../../../scripts/test-summary.mjs', import.meta.url);
const { countTests, summarise, whyFailed } = (await import(fileURLToPath(script))) as {
  countTests: (log: string) => { passed: number; failed: number };
  whyFailed: (log: string) => string[];
  summarise: (results: readonly Result[]) => { passed: number; failed: number; lines: string[] };
};

describe('the tests of a log', () => {
  test.each([
    ['', 0, 0],
    ['Tests:       12 passed, 12 total\n', 12, 0],
    ['PASS a\n\nTests:       1 failed, 2 skipped, 9 passed, 12 total\nTime: 3 s\n', 9, 1],
    ['\u001b[1mTests:       \u001b[22m\u001b[1m\u001b[31m2 failed\u001b[39m\u001b[22m, 3 total\n', 0, 2],
    ['Tests:       1 passed, 1 total\nmore\nTests:       2 passed, 2 total\n', 3, 0],
    ['Test Suites: 3 passed, 3 total\nlog: Tests: 5 passed\n', 0, 0],
  ])('%j', (log, passed, failed) => {
    expect(countTests(log)).toEqual({ passed, failed });
  });
});

describe('why a task failed', () => {
  test('is what Jest says of its failed tests', () => {
    const log = [
      'PASS test/a.test.ts',
      '\u001b[31mFAIL\u001b[39m test/b.test.ts (2 s)',
      '  ✓ one (1 ms)',
      '  ✕ two (3 ms)',
      '  \u001b[1m● things › two\u001b[22m',
      '',
      '    waited for it',
      '',
      'PASS test/c.test.ts',
      'Test Suites: 1 failed, 2 passed, 3 total',
    ].join('\n');
    expect(whyFailed(log)).toEqual(['  ● things › two', '', '    waited for it', '']);
  });

  test('is the end of its log where no test failed', () => {
    const lines = Array.from({ length: 50 }, (_, i) => `line ${i}`);
    expect(whyFailed(`${lines.join('\n')}\n`)).toEqual(lines.slice(-20));
  });
});

describe('the summary', () => {
  const task = (taskId: string, exitCode?: number): Result['task'] => {
    return { taskId, command: 'jest', ...(exitCode !== undefined && { execution: { exitCode } }) };
  };

  test('adds up what passed', () => {
    const results = [
      { task: task('a#test', 0), log: 'Tests: 3 passed, 3 total' },
      { task: task('b#test', 0), log: 'Tests: 4 passed, 4 total' },
      { task: task('a#lint', 0), log: '' },
    ];
    expect(summarise(results)).toEqual({ passed: 7, failed: 0, lines: ['7 passed, 0 failed'] });
  });

  test('counts failed tests, and one for each task that failed without them or did not run', () => {
    const results = [
      { task: task('a#test', 1), log: 'Tests: 2 failed, 3 passed, 5 total' },
      { task: task('b#test', 1), log: 'Test Suites: 1 failed\nTests: 4 passed, 4 total' },
      { task: task('a#lint', 1), log: '' },
      { task: task('c#test'), log: '' },
    ];
    const { lines, ...counts } = summarise(results);
    expect(counts).toEqual({ passed: 7, failed: 5 });
    const last = ['failed: a#test', 'failed: b#test', 'failed: a#lint', 'did not run: c#test', '7 passed, 5 failed'];
    expect(lines.slice(-last.length)).toEqual(last);
  });

  test('says first why a task failed', () => {
    const log = 'src/a.ts(1,1): error TS1: no';
    const { lines } = summarise([{ task: task('a#typecheck', 2), log }]);
    expect(lines).toEqual(['failed: a#typecheck', log, '', 'failed: a#typecheck', '0 passed, 1 failed']);
  });

  test('names what was tried twice', () => {
    const log = ' \u001b[7m LOGGING RETRY ERRORS \u001b[27m a node comes back\n RETRY 1\n\nTests: 1 passed, 1 total';
    expect(summarise([{ task: task('e2e#test', 0), log }]).lines).toEqual([
      'tried twice: e2e#test: a node comes back',
      '1 passed, 0 failed',
    ]);
  });

  test('leaves out what a package has no script for', () => {
    const none = { ...task('a#build'), command: '<NONEXISTENT>' };
    expect(summarise([{ task: none, log: '' }]).lines).toEqual(['0 passed, 0 failed']);
  });
});
