// What turbo's run summaries and Jest's last lines say together, in words for people. No I/O.

/**
 * @typedef {object} Task one task of a turbo run summary (`turbo run --summarize`)
 * @property {string} taskId such as `@kubus/bus#test`
 * @property {string} command
 * @property {{ exitCode: number } | undefined} execution missing when a task before it has failed
 */

/**
 * Adds up what Jest counted in a log; Jest writes one such line per run.
 *
 * @param {string} log
 * @returns {{ passed: number, failed: number }}
 */
export function countTests(log) {
  const plain = log.replaceAll(/\u001b\[[0-9;]*m/g, '');
  const totals = { passed: 0, failed: 0 };
  for (const [, counts] of plain.matchAll(/^Tests: +(.*)$/gm)) {
    for (const [, count, kind] of counts.matchAll(/(\d+) (passed|failed)/g)) {
      totals[kind] += Number(count);
    }
  }
  return totals;
}

/**
 * The tests that had to be tried a second time, by their whole names. Jest writes such a line before it says why.
 *
 * @param {string} log
 * @returns {string[]}
 */
export function triedAgain(log) {
  const plain = log.replaceAll(/\u001b\[[0-9;]*m/g, '');
  return [...plain.matchAll(/^ *LOGGING RETRY ERRORS +(.*?) *$/gm)].map(([, name]) => name);
}

/**
 * The result of all tasks. A failed task without a failed test (a type error, a suite that does not load) counts as one
 * failure, so `failed` is 0 only when everything ran and succeeded.
 *
 * @param {readonly { task: Task, log: string }[]} results
 * @returns {{ passed: number, failed: number, lines: string[] }} the last line is `N passed, N failed`
 */
export function summarise(results) {
  let [passed, failed] = [0, 0];
  const lines = [];
  for (const { task, log } of results.filter(({ task }) => task.command !== '<NONEXISTENT>')) {
    const counts = countTests(log);
    passed += counts.passed;
    lines.push(...triedAgain(log).map((name) => `tried twice: ${task.taskId}: ${name}`));
    if (task.execution?.exitCode === 0) {
      failed += counts.failed;
      continue;
    }
    failed += Math.max(1, counts.failed);
    lines.push(`${task.execution ? 'failed' : 'did not run'}: ${task.taskId}`);
  }
  return { passed, failed, lines: [...lines, `${passed} passed, ${failed} failed`] };
}
