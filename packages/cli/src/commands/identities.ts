import { addNode, natsFolder } from '@kubus/launcher';
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { natsFolderOption } from '../nats-option.ts';
import { outputOption, printDocument } from '../output.ts';

export function addIdentities(program: Command): void {
  program
    .command('identities')
    .description('make the identities of a node for a NATS server that is not its own, and the server’s configuration')
    .addOption(natsFolderOption())
    .addOption(outputOption())
    .action(async (options: { natsFolder: string; output?: 'json' | 'yaml' }, command: Command) => {
      const { node } = command.optsWithGlobals<{ node: string }>();
      await identities(node, resolve(options.natsFolder), options.output);
    });
}

async function identities(node: string, path: string, output?: 'json' | 'yaml'): Promise<void> {
  const folder = natsFolder(path);
  const nodes = await addNode(folder, node);
  if (output !== undefined) {
    printDocument({ ...folder, nodes }, output);
    return;
  }
  console.log(`${folder.config}
  lets in ${nodes.join(', ')}, with the keys in ${folder.identities}
Start a server with it, or let one that runs with it read it again:
  docker compose up -d nats  |  nats-server -c ${folder.config}
  docker compose kill --signal HUP nats  |  nats-server --signal reload`);
}
