import { nodeConfigFile, nodeDir } from '@kubus/launcher';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { passOn } from '../in-place.ts';
import { requireRoot } from '../require-root.ts';
import { UserError } from '../user-error.ts';

export function addInside(program: Command): void {
  program
    .command('inside')
    .argument('<command...>', 'the program, after --; it finds the node’s configuration in KUBUS_CONFIG')
    .description('run a program in the network of a node, where its NATS server and its pods are reached')
    .action(async (command: string[], _options: object, self: Command) => {
      requireRoot('inside');
      await inside(self.optsWithGlobals<{ node: string }>().node, command);
    });
}

/** This program runs there itself already, as all that speak with a node. */
async function inside(node: string, [program = '', ...args]: readonly string[]): Promise<void> {
  const dir = nodeDir(node);
  if (!existsSync(dir.networkNamespace)) throw new UserError(`node ${node} does not run: start it with ./kubus up`);
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, KUBUS_CONFIG: nodeConfigFile(dir) } });
  passOn(child);
  // Rejects where there is no such program.
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}
