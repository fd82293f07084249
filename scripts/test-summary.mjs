// Summarizes the results of the checks and of Jest's runs, in words for people. No I/O.
import { relative } from 'node:path';

/**
 * @typedef {object} Task one task of a turbo run summary (`turbo run --summarize`)
 * @property {string} taskId such as `//#lint`
 * @property {string} command
 * @property {{ exitCode: number } | undefined} execution missing when a task before it has failed
 */

/**
 * @typedef {object} TestFile the result of one test file
 * @property {string} name its path from the root
 * @property {number} seconds
 * @property {number} passed
 * @property {number} failed 1 for a file that could not be loaded
 * @property {string} why Jest's output about its failed tests
 */

/**
 * Reads the output of `jest --json`.
 *
 * @param {object} json
 * @param {string} root
 * @returns {TestFile[]}
 */
export function readFiles(json, root) {
  return json.testResults.map(({ name, startTime, endTime, status, message, assertionResults: tests }) => {
    const failed = tests.filter((test) => test.status === 'failed').length;
    return {
      name: relative(root, name),
      seconds: (endTime - startTime) / 1000,
      passed: tests.filter((test) => test.status === 'passed').length,
      failed: status === 'failed' ? Math.max(1, failed) : failed,
      why: message.trimEnd(),
    };
  });
}

const plain = (text) => text.replaceAll(/\u001b\[[0-9;]*m/g, '');

/** How much is shown of a failed task: enough for a type error, not so much that it hides other failures. */
const LAST_LINES = 20;

/**
 * Why tasks failed: the ends of their logs. A task whose dependency failed did not run.
 *
 * @param {readonly { task: Task, log: string }[]} results
 * @returns {{ failed: number, why: string[], lines: string[] }}
 */
export function summariseTasks(results) {
  const [why, lines] = [[], []];
  for (const { task, log } of results) {
    if (task.command === '<NONEXISTENT>' || task.execution?.exitCode === 0) continue;
    if (task.execution === undefined) {
      lines.push(`did not run: ${task.taskId}`);
      continue;
    }
    lines.push(`failed: ${task.taskId}`);
    why.push(`failed: ${task.taskId}`, ...plain(log).trimEnd().split('\n').slice(-LAST_LINES), '');
  }
  return { failed: lines.length, why, lines };
}

/**
 * The longest files, as a table.
 *
 * @param {readonly { name: string, seconds: number }[]} files
 * @param {number} count
 * @returns {{ seconds: number, lines: string[] }} the total duration of those in the table
 */
export function slowest(files, count) {
  const longest = [...files].sort((a, b) => b.seconds - a.seconds).slice(0, count);
  const seconds = longest.reduce((sum, file) => sum + file.seconds, 0);
  const row = (amount, name) => `${amount.toFixed(1).padStart(8)} s  ${name}`;
  return {
    seconds,
    lines: [
      `The ${longest.length} slowest of ${files.length} files:`,
      ...longest.map((file) => row(file.seconds, file.name)),
      row(seconds, 'together'),
    ],
  };
}

/**
 * The result of everything. A failure without a failed test (a type error, an aborted run) counts as one failure, so that
 * `failed` is 0 only when everything ran and succeeded.
 *
 * @param {object} results
 * @param {readonly { task: Task, log: string }[]} results.tasks
 * @param {readonly TestFile[]} results.files the files that ran
 * @param {number} results.unchanged tests that succeeded before and did not need to run again
 * @param {readonly string[]} results.broken other failures
 * @param {readonly string[]} results.table
 * @returns {{ passed: number, failed: number, lines: string[] }} the reasons, then the failures, then the table; the last
 *   line is `N passed, N failed`
 */
export function summarise({ tasks, files, unchanged, broken, table }) {
  const { why, lines, ...ofTasks } = summariseTasks(tasks);
  const passed = files.reduce((sum, file) => sum + file.passed, unchanged);
  const failed = files.reduce((sum, file) => sum + file.failed, ofTasks.failed + broken.length);
  for (const file of files.filter((file) => file.failed > 0)) {
    why.push(`failed: ${file.name}`, file.why, '');
    lines.push(`failed: ${file.name}`);
  }
  lines.push(...broken);
  if (unchanged > 0) lines.push(`unchanged since they passed: ${unchanged} tests`);
  return { passed, failed, lines: [...why, ...lines, ...table, `${passed} passed, ${failed} failed`] };
}
