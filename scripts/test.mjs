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
  ['lint', 'typecheck', 'test', '--filter=@kubus/e2e', '--concurrency=1'],
];

const results = [];
let complete = true;
for (const run of runs) {
  const { summary, exitCode } = await turbo(run);
  if (summary === undefined) {
    console.error(`turbo run ${run.join(' ')} ended with ${exitCode} and without a summary`);
    complete = false;
    continue;
  }
  for (const task of JSON.parse(await readFile(summary, 'utf8')).tasks) {
    results.push({ task, log: await logOf(task) });
  }
}

const { failed, lines } = summarise(results);
console.log(`\n${lines.join('\n')}`);
process.exitCode = failed === 0 && complete ? 0 : 1;

/** A task of the root has no log, one that did not run may have none. */
async function logOf({ logFile }) {
  return logFile === undefined ? '' : readFile(join(root, logFile), 'utf8').catch(() => '');
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
  child.stdout.on('data', (chunk) => {
    process.stdout.write(chunk);
    // The summary's place is among the last lines.
    output = (output + chunk).slice(-4096);
  });
  const [exitCode] = await once(child, 'close');
  const plain = output.replaceAll(/\u001b\[[0-9;]*m/g, '');
  return { exitCode, summary: /^Summary: +(\S+)$/m.exec(plain)?.[1] };
}
