// Runs every check and every test of the workspace and says how many passed: `./kubus test`. What has not changed since
// it last succeeded is not run again but counted; the end-to-end tests, which look at this machine, always run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { summarise } from './test-summary.mjs';

const root = resolve(import.meta.dirname, '..');

/** Tests of the real node measure themselves against nothing else running: they come last, one after the other. */
const runs = [
  ['format:check', 'lint', 'typecheck', 'test', '--filter=!@kubus/e2e', `--concurrency=${availableParallelism()}`],
  ['test', '--filter=@kubus/e2e', '--concurrency=1'],
];

const results = [];
let complete = true;
for (const run of runs) {
  const { summary, exitCode, output } = await turbo(run);
  if (summary === undefined) {
    console.error(`turbo run ${run.join(' ')} ended with ${exitCode} and without a summary`);
    complete = false;
    continue;
  }
  for (const task of JSON.parse(await readFile(summary, 'utf8')).tasks) {
    results.push({ task, log: await logOf(task, output) });
  }
}

const { failed, lines } = summarise(results);
console.log(`\n${lines.join('\n')}`);
process.exitCode = failed === 0 && complete ? 0 : 1;

/** What a task has written. One that is never cached has no log of its own, only lines with its name in turbo's output. */
async function logOf({ taskId, logFile }, output) {
  if (logFile !== undefined) return readFile(join(root, logFile), 'utf8').catch(() => '');
  const prefix = `${taskId.replace('#', ':')}: `;
  const lines = output.split('\n').filter((line) => line.startsWith(prefix));
  return lines.map((line) => line.slice(prefix.length)).join('\n');
}

/** Runs tasks, shows their output, and returns the path of turbo's own account of it. */
async function turbo(args) {
  const all = ['run', ...args, '--summarize', '--continue=dependencies-successful', '--output-logs=full'];
  const child = spawn(join(root, 'node_modules/.bin/turbo'), all, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    process.stdout.write(chunk);
    output += chunk;
  });
  const [exitCode] = await once(child, 'close');
  const plain = output.replaceAll(/\u001b\[[0-9;]*m/g, '');
  return { exitCode, output: plain, summary: /^ *Summary: +(\S+)$/m.exec(plain)?.[1] };
}
