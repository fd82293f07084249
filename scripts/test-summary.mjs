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

/** Of a task that failed without a failed test: enough for a type error, not so much that it hides other failures. */
const LAST_LINES = 20;

/**
 * Why a task failed: what Jest says of each failed test, or the end of the log where no test did.
 *
 * @param {string} log
 * @returns {string[]}
 */
export function whyFailed(log) {
  const lines = log
    .replaceAll(/\u001b\[[0-9;]*m/g, '')
    .trimEnd()
    .split('\n');
  const why = [];
  let within = false;
  for (const line of lines) {
    if (/^ +● /.test(line)) within = true;
    else if (/^(PASS|FAIL|RUNS|Test Suites:) ?/.test(line)) within = false;
    if (within) why.push(line);
  }
  return why.length > 0 ? why : lines.slice(-LAST_LINES);
}

/**
 * The result of all tasks. A failed task without a failed test (a type error, a suite that does not load) counts as one
 * failure, so `failed` is 0 only when everything ran and succeeded.
 *
 * @param {readonly { task: Task, log: string }[]} results
 * @returns {{ passed: number, failed: number, lines: string[] }} why tasks failed, then which; the last line is `N passed, N failed`
 */
export function summarise(results) {
  let [passed, failed] = [0, 0];
  const [why, lines] = [[], []];
  for (const { task, log } of results.filter(({ task }) => task.command !== '<NONEXISTENT>')) {
    const counts = countTests(log);
    passed += counts.passed;
    lines.push(...triedAgain(log).map((name) => `tried twice: ${task.taskId}: ${name}`));
    if (task.execution?.exitCode === 0) {
      failed += counts.failed;
      continue;
    }
    failed += Math.max(1, counts.failed);
    if (task.execution === undefined) {
      lines.push(`did not run: ${task.taskId}`);
      continue;
    }
    lines.push(`failed: ${task.taskId}`);
    why.push(`failed: ${task.taskId}`, ...whyFailed(log), '');
  }
  return { passed, failed, lines: [...why, ...lines, `${passed} passed, ${failed} failed`] };
}
