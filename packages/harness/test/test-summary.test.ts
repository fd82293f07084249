import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

interface Result {
  readonly task: { taskId: string; command: string; execution?: { exitCode: number } };
  readonly log: string;
}

const script = new URL('../../../scripts/test-summary.mjs', import.meta.url);
const { countTests, summarise } = (await import(fileURLToPath(script))) as {
  countTests: (log: string) => { passed: number; failed: number };
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
    expect(summarise(results)).toEqual({
      passed: 7,
      failed: 5,
      lines: ['failed: a#test', 'failed: b#test', 'failed: a#lint', 'did not run: c#test', '7 passed, 5 failed'],
    });
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
