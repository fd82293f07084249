// Runs every check and every test of the workspace and prints how many passed: `./kubus test`. What has not changed since it last
// succeeded is counted and not run again; the end-to-end tests, which depend on this machine, always run. docs/soak.md describes the
// long form.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import preset from '../jest.preset.mjs';
import { slowness } from './machine-speed.mjs';
import { Progress } from './test-progress.mjs';
import { compare, readRecord, recordAfter, secondsOf, writeRecord } from './test-record.mjs';
import { readFiles, slowest, summarise } from './test-summary.mjs';

/** How many files the table at the end lists. */
const SLOWEST = 20;

/**
 * The limit for the total duration of the files in that table with `--limit`, in seconds on two cores; a machine that starts processes
 * more slowly may take longer by as much. Lower it when tests get faster, and raise it only with a reason in the commit.
 */
const SLOWEST_LIMIT_S = 2200;

/** Test files at once. Many wait for the processes that they start; with one more, the run takes as long and tests wait too long. */
const WORKERS = availableParallelism() + 1;

const root = resolve(import.meta.dirname, '..');
const { values: options } = parseArgs({ options: { soak: { type: 'boolean' }, limit: { type: 'boolean' } } });
const soak = (options.soak ?? false) || process.env.KUBUS_TEST_SOAK === '1';
const seed = process.env.KUBUS_TEST_SEED ?? String(randomInt(2 ** 31));
const seedLine = `seed ${seed}; the same again: KUBUS_TEST_SEED=${seed} ./kubus test${soak ? ' --soak' : ''}`;
console.log(seedLine);

const broken = [];
// Before and after the tests, when nothing else runs: a machine's speed may change.
const slowBefore = options.limit ? slowness() : 1;
const build = await run('pnpm', ['--silent', 'run', 'build'], root);
const prepared = build.exitCode === 0;
if (!prepared) console.log(`failed: build\n${build.output}`);
// Lint is busy while many tests of packages wait.
const checks = check();
// The soak is a separate run: it does not use the record of passed tests, and does not change it.
const record = soak ? {} : readRecord(root);
const packages = await testTasks();
const { changed, unchanged } = compare(packages, record);

const files = [];
if (!prepared) broken.push('the tests did not run, because generated or built files are missing');
else {
  if (changed.length > 0) {
    const ran = await jest('packages', root, [
      `--maxWorkers=${WORKERS}`,
      // A worker that has run many files is replaced: it would be slowed down by what Jest keeps of each.
      '--workerIdleMemoryLimit=1GB',
      `--testSequencer=${join(root, 'scripts/test-order.mjs')}`,
      // Jest ignores this setting in the packages' own configurations when there are several.
      `--testTimeout=${preset.testTimeout}`,
      '--passWithNoTests',
      '--projects',
      ...changed.map(({ directory }) => directory),
    ]);
    files.push(...ran);
    if (!soak && ran.length > 0) writeRecord(root, recordAfter(record, packages, await testTasks(), ran));
  }
  await checks;
  // These tests run real nodes: they run last.
  files.push(...(await jest('end to end', join(root, 'e2e'), [`--maxWorkers=${WORKERS}`])));
}

const tasks = [
  { task: { taskId: 'build', command: 'pnpm build', execution: build }, log: build.output },
  ...(await checks),
];
const before = Object.fromEntries(unchanged.map(({ package: name }) => [name, record[name]]));
const keptFiles = Object.entries(secondsOf(before)).map(([name, seconds]) => ({ name, seconds }));
const table = slowest([...files, ...keptFiles], SLOWEST);
const limitS = Math.round(SLOWEST_LIMIT_S * Math.max(slowBefore, options.limit ? slowness() : 1));
if (options.limit && table.seconds > limitS) {
  broken.push(`the slowest files take ${Math.round(table.seconds)} s together, more than the limit of ${limitS} s`);
}
const { failed, lines } = summarise({
  tasks,
  files,
  unchanged: Object.values(before).reduce((sum, { passed }) => sum + passed, 0),
  broken,
  table: [...table.lines, seedLine],
});
console.log(`\n${lines.join('\n')}`);
process.exitCode = failed === 0 ? 0 : 1;

/** Checks format, lint rules and types; prints how long that took, and what has failed. */
async function check() {
  const started = performance.now();
  const args = ['format:check', 'lint', `--concurrency=${availableParallelism()}`];
  const checked = await turbo([...args, '--summarize', '--continue=dependencies-successful', '--output-logs=none']);
  const progress = new Progress(process.stdout);
  const summary = /^ *Summary: +(\S+)$/m.exec(checked.output)?.[1];
  const results = [];
  if (summary === undefined) broken.push(`turbo ended with ${checked.exitCode}: ${checked.output}`);
  else {
    for (const task of JSON.parse(await readFile(summary, 'utf8')).tasks) {
      const log = task.logFile === undefined ? '' : await readFile(join(root, task.logFile), 'utf8').catch(() => '');
      results.push({ task, log });
    }
  }
  const isGood = ({ task }) => task.command === '<NONEXISTENT>' || task.execution?.exitCode === 0;
  for (const { task, log } of results.filter((result) => !isGood(result)))
    progress.print(`failed: ${task.taskId}\n${log}`);
  progress.print(`format, lint, types: ${Math.round((performance.now() - started) / 1000)} s`);
  return results;
}

/** The packages that have tests, each with turbo's hash of all that its tests depend on. Another seed does not cause a new run. */
async function testTasks() {
  const { KUBUS_TEST_SEED: _, ...env } = process.env;
  const { output, exitCode } = await turbo(['test', '--filter=!@kubus/e2e', '--dry=json'], env);
  if (exitCode !== 0) throw new Error(`turbo run test --dry=json ended with ${exitCode}: ${output}`);
  return JSON.parse(output).tasks.filter(({ task, command }) => task === 'test' && command !== '<NONEXISTENT>');
}

/** Runs Jest, shows its progress, and returns the result of each file. */
async function jest(what, folder, args) {
  const results = await mkdtemp(join(tmpdir(), 'kubus-tests-'));
  try {
    const outputFile = join(results, 'results.json');
    const child = spawn(
      process.execPath,
      [
        '--max-semi-space-size=64',
        '--experimental-vm-modules',
        '--disable-warning=ExperimentalWarning',
        join(root, 'node_modules/jest/bin/jest.js'),
        // Node.js sometimes loops for ever in the cleanup of its own handles after the run.
        '--forceExit',
        '--json',
        `--outputFile=${outputFile}`,
        `--reporters=${join(root, 'scripts/test-reporter.mjs')}`,
        ...args,
      ],
      {
        cwd: folder,
        stdio: ['ignore', 'inherit', 'pipe'],
        env: {
          ...process.env,
          KUBUS_TEST_SEED: seed,
          KUBUS_TEST_WHAT: what,
          ...(soak && { KUBUS_TEST_SOAK: '1' }),
          // Tests start hundreds of processes from sources: code that Node.js has compiled once is not compiled again.
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, '.kubus/compile-cache'),
        },
      },
    );
    const said = collect(child.stderr);
    const [exitCode] = await once(child, 'close');
    const json = await readFile(outputFile, 'utf8').catch(() => undefined);
    if (json === undefined) {
      broken.push(`${what}: Jest ended with ${exitCode} before its results: ${said().slice(-2_000)}`);
      return [];
    }
    const parsed = JSON.parse(json);
    if (exitCode !== 0 && parsed.numFailedTestSuites === 0) broken.push(`${what}: Jest ended with ${exitCode}`);
    return readFiles(parsed, root);
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

function turbo(args, env = process.env) {
  return run(join(root, 'node_modules/.bin/turbo'), ['run', ...args], root, env);
}

/** Runs a program and returns what it wrote, without colours. */
async function run(program, args, cwd, env = process.env) {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], env });
  const output = collect(child.stdout);
  const errors = collect(child.stderr);
  const [exitCode] = await once(child, 'close');
  return { exitCode, output: exitCode === 0 ? output() : output() + errors() };
}

function collect(stream) {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  return () => text.replaceAll(/\u001b\[[0-9;]*m/g, '');
}
