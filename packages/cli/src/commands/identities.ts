import { type InstanceCounts, addNode, natsFolder } from '@kubus/launcher';
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { natsFolderOption } from '../nats-option.ts';
import { outputOption, printDocument } from '../output.ts';
import { scaleOption } from '../scale-option.ts';
import { UserError } from '../user-error.ts';

interface IdentitiesOptions {
  natsFolder: string;
  scale: InstanceCounts;
  host: string;
  tlsCert?: string;
  tlsKey?: string;
  output?: 'json' | 'yaml';
}

export function addIdentities(program: Command): void {
  program
    .command('identities')
    .description('make the identities of a node for a NATS server that is not its own, and the server’s configuration')
    .addOption(natsFolderOption())
    .option('--host <address>', 'where the server listens; another address than the loopback needs TLS', '127.0.0.1')
    .option('--tls-cert <file>', 'the server’s certificate, PEM, at the path where the server finds it')
    .option('--tls-key <file>', 'its key')
    .addOption(scaleOption())
    .addOption(outputOption())
    .action(async (options: IdentitiesOptions, command: Command) => {
      await identities(command.optsWithGlobals<{ node: string }>().node, options);
    });
}

async function identities(node: string, options: IdentitiesOptions): Promise<void> {
  const { output, scale, host, tlsCert, tlsKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new UserError('--tls-cert and --tls-key go together');
  const tls = tlsCert === undefined || tlsKey === undefined ? undefined : { cert: tlsCert, key: tlsKey };
  const folder = natsFolder(resolve(options.natsFolder));
  const nodes = await addNode(folder, node, scale, { host, tls });
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
