import { nodeDir, takeDown } from '@kubus/launcher';
import { type Command, InvalidArgumentError } from 'commander';
import { existsSync } from 'node:fs';
import { requireRoot } from '../require-root.ts';

export function addDown(program: Command): void {
  program
    .command('down')
    .description('stop a node and remove everything that it has on this machine; also after a crash')
    .option('--grace <seconds>', 'how long containers have to end', seconds, 3)
    .action(async (options: { grace: number }, command: Command) => {
      const { node } = command.optsWithGlobals<{ node: string }>();
      await down(node, options.grace);
    });
}

/** Takes a node down, with a line for each step. */
export async function down(node: string, graceSeconds: number): Promise<void> {
  requireRoot('down');
  const dir = nodeDir(node);
  if (!existsSync(dir.root) && !existsSync(dir.run)) {
    console.log(`node ${node} is not there`);
    return;
  }
  await takeDown(dir, {
    graceSeconds,
    onStep: (step) => console.log(`kubus: ${step}`),
    onProblem: (problem) => console.error(`kubus: ${problem}`),
  });
  console.log(`node ${node} is gone`);
}

function seconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number of seconds is needed');
  return Number(text);
}
