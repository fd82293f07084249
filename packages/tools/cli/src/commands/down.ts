import { hasKeptApi, nodeDir, nodeNames, takeDown } from '@kubus/launcher';
import { type Command, InvalidArgumentError } from 'commander';
import { existsSync } from 'node:fs';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print, printError } from '../output/output.ts';
import { requireRoot } from '../node/require-root.ts';
import { UserError } from '../user-error.ts';

export function addDown(program: Command): void {
  program
    .command('down')
    .description('stop a node and remove everything it has on this machine; also after a crash')
    .option('--grace <seconds>', 'grace period of the containers in seconds', seconds, 3)
    .option('--keep', 'keep the objects of the node’s Kubernetes API for the next "up" of this name')
    .addOption(outputOption())
    .action(async (options: DownOptions, command: Command) => {
      const { node } = command.optsWithGlobals<{ node: string }>();
      await down(node, options);
    });
}

export interface DownOptions {
  /** Of the containers, in seconds. */
  readonly grace: number;
  readonly keep?: boolean;
  readonly output?: 'json' | 'yaml';
}

/**
 * Takes a node down; prints a line for each step, or one document at the end when `output` is given.
 *
 * @throws UserError when there is no such node.
 */
export async function down(node: string, { grace, keep = false, output }: DownOptions): Promise<void> {
  requireRoot('down');
  const dir = nodeDir(node);
  if (!existsSync(dir.root) && !existsSync(dir.run) && (keep || !hasKeptApi(dir))) {
    if (output !== undefined) printKubusDocument('NodeRemoval', { node, found: false, problems: [] }, output);
    throw new UserError(`node ${node} does not exist on this machine: ${others(await nodeNames())}`);
  }
  const problems: string[] = [];
  await takeDown(dir, {
    graceSeconds: grace,
    keepsApi: keep,
    onStep: (step) => {
      if (output === undefined) print(`kubus: ${step}`);
    },
    onProblem: (problem) => {
      problems.push(problem);
      printError(`kubus: ${problem}`);
    },
  });
  if (output === undefined) print(`node ${node} is removed`);
  else printKubusDocument('NodeRemoval', { node, found: true, problems }, output);
}

function others(names: readonly string[]): string {
  return names.length === 0 ? 'it has no node' : `its nodes are ${names.join(', ')} ("./kubus ls")`;
}

function seconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number of seconds');
  return Number(text);
}
