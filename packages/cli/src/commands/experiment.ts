import { arms, markdownOf, parseExperiment, reportOf } from '@kubus/experiment';
import { nodeDir } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { systemIds } from '@kubus/service-kit';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runExperiment } from '../experiment/run-experiment.ts';
import { connectNode } from '../node-link.ts';
import { programInNode } from '../program-in-node.ts';
import { requireRoot } from '../require-root.ts';
import { UserError } from '../user-error.ts';

export function addExperiment(program: Command): void {
  const experiment = program
    .command('experiment')
    .description('measure what faults do to pods, from a file: see docs/experiments.md');
  experiment
    .command('run')
    .argument('<file>', 'the experiment')
    .description('run an experiment on a private node of its own, which is gone afterwards; print the report')
    .option('--output <folder>', 'where report.md and report.json are written; the experiment’s name where left out')
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

/** In the machine's network: brings the node up, has the experiment run in the node's network, and takes the node down. */
async function run(file: string, output: string | undefined): Promise<void> {
  requireRoot('experiment');
  const { name } = await readExperiment(file);
  const folder = resolve(output ?? name);
  await mkdir(folder, { recursive: true });
  const manifests = await mkdtemp(join(tmpdir(), 'kubus-experiment-'));
  const node = `experiment-${systemIds.hex(3)}`;
  const ending = new AbortController();
  // The children of a terminal get Ctrl-C by themselves; the node is to go in any case.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort());
  console.error(`kubus: the experiment has the node ${node}`);
  try {
    const upped = await own(['--node', node, 'up', '--faults', '--manifests', manifests], ending.signal);
    if (upped !== 0) throw new UserError('the node of the experiment did not start');
    const [program, ...args] = programInNode(nodeDir(node), ['experiment-inside', file, manifests, folder]);
    const status = await exitOf(spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }), ending.signal);
    if (status !== 0) throw new UserError('the experiment did not come to its end');
  } finally {
    await own(['--node', node, 'down', '--grace', '1']);
    await rm(manifests, { recursive: true, force: true });
  }
}

/** Runs this program with other arguments; what it prints is progress. Resolves with its exit code. */
function own(args: readonly string[], signal?: AbortSignal): Promise<number> {
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
    console.error(`kubus: run ${number} of ${total} (repetition ${repetition}, ${arm}): ${what}`);
  });
  const report = reportOf(experiment, results);
  const text = markdownOf(report);
  await writeFile(join(output, 'report.json'), `${JSON.stringify(report, undefined, 2)}\n`);
  await writeFile(join(output, 'report.md'), text);
  console.log(text.trimEnd());
}

async function readExperiment(file: string): Promise<ReturnType<typeof parseExperiment>> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`${file} can not be read: ${toError(error).message}`);
  });
  return parseExperiment(text, file);
}
