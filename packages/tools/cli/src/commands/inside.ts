import { nodeConfigFile, nodeDir } from '@kubus/launcher';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { forwardSignals } from '../node/run-instead.ts';
import { requireRoot } from '../node/require-root.ts';
import { upCommand } from '../node/no-such-node.ts';
import { UserError } from '../user-error.ts';

export function addInside(program: Command): void {
  program
    .command('inside')
    .argument('<command...>', 'the program, after --; KUBUS_CONFIG names the node’s configuration file')
    .description('run a program in the network namespace of a node, where NATS and the pods are reachable')
    .action(async (command: string[], _options: object, self: Command) => {
      requireRoot('inside');
      await inside(self.optsWithGlobals<{ node: string }>().node, command);
    });
}

/** This process is in the node's network namespace already (enter-namespace.ts), and so is its child. */
async function inside(node: string, [program = '', ...args]: readonly string[]): Promise<void> {
  const dir = nodeDir(node);
  if (!existsSync(dir.networkNamespace))
    throw new UserError(`node ${node} is not running: start it with ${upCommand(node)}`);
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, KUBUS_CONFIG: nodeConfigFile(dir) } });
  forwardSignals(child);
  // Rejects when the program does not exist.
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}
