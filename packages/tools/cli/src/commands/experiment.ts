import { arms, markdownOf, parseExperiment, reportOf } from '@kubus/experiment';
import { nodeDir } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { systemIds } from '@kubus/service-kit';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runExperiment } from '../experiment/run-experiment.ts';
import { connectNode } from '../node/node-link.ts';
import { programInNode } from '../node/program-in-node.ts';
import { requireRoot } from '../node/require-root.ts';
import { UserError } from '../user-error.ts';
import { print, printError } from '../output/output.ts';

export function addExperiment(program: Command): void {
  const experiment = program
    .command('experiment')
    .description('measure the effect of faults on pods: see docs/experiments.md');
  experiment
    .command('run')
    .argument('<file>', 'experiment file (YAML)')
    .description('run an experiment on a temporary node and print the report')
    .option('--output <folder>', 'folder for report.md and report.json; default: the experiment’s name')
    .action((file: string, { output }: { output?: string }) => run(resolve(file), output));
  program
    .command('experiment-inside', { hidden: true })
    .argument('<file>')
    .argument('<manifests>')
    .argument('<output>')
    .action(async (file: string, manifests: string, output: string, _options: object, command: Command) => {
      await runInside(command.optsWithGlobals<{ node: string }>().node, file, manifests, output);
    });
}

/** Runs in the machine's network: starts a node, runs the experiment in the node's network, and removes the node. */
async function run(file: string, output: string | undefined): Promise<void> {
  requireRoot('experiment');
  const { name } = await readExperiment(file);
  const folder = resolve(output ?? name);
  await mkdir(folder, { recursive: true });
  const manifests = await mkdtemp(join(tmpdir(), 'kubus-experiment-'));
  const node = `experiment-${systemIds.hex(3)}`;
  const ending = new AbortController();
  // A terminal sends Ctrl-C to the children too; the node has to be removed in any case.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort());
  printError(`kubus: the experiment runs on the temporary node ${node}`);
  try {
    const started = await runSelf(['--node', node, 'up', '--faults', '--manifests', manifests], ending.signal);
    if (started !== 0) throw new UserError(`node ${node} of the experiment did not start: see the messages above`);
    const [program, ...args] = programInNode(nodeDir(node), ['experiment-inside', file, manifests, folder]);
    const status = await exitOf(spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }), ending.signal);
    if (status !== 0) throw new UserError(`experiment ${name} was not completed: see the messages above`);
  } finally {
    if (existsSync(nodeDir(node).root)) await runSelf(['--node', node, 'down', '--grace', '1']);
    await rm(manifests, { recursive: true, force: true });
  }
}

/** Runs this program with other arguments; its output goes to standard error. Resolves with its exit code. */
function runSelf(args: readonly string[], signal?: AbortSignal): Promise<number> {
  const argv = [...process.execArgv, process.argv[1] ?? '', ...args];
  return exitOf(spawn(process.execPath, argv, { stdio: ['ignore', process.stderr.fd, 'inherit'] }), signal);
}

async function exitOf(child: ReturnType<typeof spawn>, signal?: AbortSignal): Promise<number> {
  const end = () => child.kill('SIGTERM');
  signal?.addEventListener('abort', end);
  if (signal?.aborted === true) end();
  const [code] = (await once(child, 'exit')) as [number | null];
  signal?.removeEventListener('abort', end);
  return code ?? 1;
}

async function runInside(node: string, file: string, manifests: string, output: string): Promise<void> {
  const experiment = await readExperiment(file);
  const link = await connectNode(node);
  const total = experiment.repetitions * arms.length;
  const results = await runExperiment(experiment, { link, manifests }, ({ number, repetition, arm }, what) => {
    printError(`kubus: run ${number} of ${total} (repetition ${repetition}, ${arm}): ${what}`);
  });
  const report = reportOf(experiment, results);
  const text = markdownOf(report);
  await writeFile(join(output, 'report.json'), `${JSON.stringify(report, undefined, 2)}\n`);
  await writeFile(join(output, 'report.md'), text);
  print(text.trimEnd());
}

async function readExperiment(file: string): Promise<ReturnType<typeof parseExperiment>> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`cannot read ${file}: ${toError(error).message}`);
  });
  return parseExperiment(text, file);
}
