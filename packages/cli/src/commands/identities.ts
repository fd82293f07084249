import { type InstanceCounts, addNode, natsFolder } from '@kubus/launcher';
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { natsFolderOption } from '../nats-option.ts';
import { outputOption, printDocument } from '../output.ts';
import { scaleOption } from '../scale-option.ts';

interface IdentitiesOptions {
  natsFolder: string;
  scale: InstanceCounts;
  output?: 'json' | 'yaml';
}

export function addIdentities(program: Command): void {
  program
    .command('identities')
    .description('make the identities of a node for a NATS server that is not its own, and the server’s configuration')
    .addOption(natsFolderOption())
    .addOption(scaleOption())
    .addOption(outputOption())
    .action(async (options: IdentitiesOptions, command: Command) => {
      await identities(command.optsWithGlobals<{ node: string }>().node, options);
    });
}

async function identities(node: string, options: IdentitiesOptions): Promise<void> {
  const { output, scale } = options;
  const folder = natsFolder(resolve(options.natsFolder));
  const nodes = await addNode(folder, node, scale);
  if (output !== undefined) {
    printDocument({ ...folder, nodes }, output);
    return;
  }
  console.log(`${folder.config}
  lets in ${nodes.join(', ')}, with the keys in ${folder.identities}
Start a server with it, or let one that runs with it read it again:
  docker compose -f examples/nats/docker-compose.yml up -d  |  nats-server -c ${folder.config}
  docker compose -f examples/nats/docker-compose.yml kill --signal HUP nats  |  nats-server --signal reload`);
}
