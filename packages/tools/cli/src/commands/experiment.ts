import { type Experiment, type RunResult, markdownOf, parseExperiment, reportOf } from '@kubus/experiment';
import { toError } from '@kubus/ports';
import type { Command } from 'commander';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { requireRoot } from '../node/require-root.ts';
import { UserError } from '../user-error.ts';
import { print } from '../output/output.ts';

export function addExperiment(program: Command): void {
  const experiment = program
    .command('experiment')
    .description('compare pods under two conditions, with confidence intervals: see docs/experiments.md');
  experiment
    .command('run')
    .argument('<file>', 'experiment file (YAML)')
    .description('run an experiment on temporary nodes, or on a described machine, and print the report')
    .option('--output <folder>', 'folder for report.md and report.json; default: the experiment’s name')
    .action((file: string, { output }: { output?: string }) => run(resolve(file), output));
  program
    .command('experiment-inside', { hidden: true })
    .argument('<file>')
    .argument('<folder>')
    .argument('<first>')
    .argument('<last>')
    .action(async (...[file, folder, first, last, , command]: [string, string, string, string, object, Command]) => {
      const { node } = command.optsWithGlobals<{ node: string }>();
      await runInside(node, file, folder, { first: Number(first), last: Number(last) });
    });
}

async function run(file: string, output: string | undefined): Promise<void> {
  const experiment = await readExperiment(file);
  const folder = resolve(output ?? experiment.name);
  const results = await resultsOf(experiment, file, () => mkdir(folder, { recursive: true }));
  const report = reportOf(experiment, results);
  const text = markdownOf(report);
  await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, undefined, 2)}\n`);
  await writeFile(join(folder, 'report.md'), text);
  print(text.trimEnd());
}

/** @param begin called before anything runs */
async function resultsOf(experiment: Experiment, file: string, begin: () => Promise<unknown>): Promise<RunResult[]> {
  if ('machine' in experiment) {
    const { readMachineFile } = await import('../topology/machine-file.ts');
    const machine = await readMachineFile(resolve(dirname(file), experiment.machine));
    await begin();
    const { machineRuns } = await import('@kubus/experiment');
    const runs = machineRuns(experiment, machine);
    if ('problem' in runs) throw new UserError(`${file}: ${runs.problem}`);
    return runs;
  }
  requireRoot('experiment');
  await begin();
  const { runOnNodes } = await import('../experiment/experiment-nodes.ts');
  return runOnNodes(file, experiment);
}

/** Runs in the network of the node; prints the results as JSON. */
async function runInside(
  node: string,
  file: string,
  folder: string,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<void> {
  const experiment = await readExperiment(file);
  if ('machine' in experiment) throw new UserError(`${file}: it needs no node`);
  const { connectNode } = await import('../node/node-link.ts');
  const { runExperiment } = await import('../experiment/run-experiment.ts');
  const { nodeFolder } = await import('../experiment/experiment-nodes.ts');
  const link = await connectNode(node);
  const results = await runExperiment(experiment, { link, folder: nodeFolder(folder) }, { first, last });
  print(JSON.stringify(results));
}

async function readExperiment(file: string): Promise<Experiment> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`cannot read ${file}: ${toError(error).message}`);
  });
  return parseExperiment(text, file);
}
