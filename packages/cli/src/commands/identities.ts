import { addNode, natsFolder } from '@kubus/launcher';
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { natsFolderOption } from '../nats-option.ts';

export function addIdentities(program: Command): void {
  program
    .command('identities')
    .description('make the identities of a node for a NATS server that is not its own, and the server’s configuration')
    .addOption(natsFolderOption())
    .action(async (options: { natsFolder: string }, command: Command) => {
      await identities(command.optsWithGlobals<{ node: string }>().node, resolve(options.natsFolder));
    });
}

async function identities(node: string, path: string): Promise<void> {
  const folder = natsFolder(path);
  const nodes = await addNode(folder, node);
  console.log(`${folder.config}
  lets in ${nodes.join(', ')}, with the keys in ${folder.identities}
Start a server with it, or let one that runs with it read it again:
  docker compose up -d nats  |  nats-server -c ${folder.config}
  docker compose kill --signal HUP nats  |  nats-server --signal reload`);
}
