import { type InstanceCounts, addNode, natsFolder } from '@kubus/launcher';
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { natsFolderOption } from '../nats-option.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { scaleOption } from '../node/scale-option.ts';
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
    .description('create the NATS identities of a node for an external NATS server, and that server’s configuration')
    .addOption(natsFolderOption())
    .option(
      '--host <address>',
      'address on which the server listens; any other than the loopback needs TLS',
      '127.0.0.1',
    )
    .option('--tls-cert <file>', 'certificate of the server (PEM), as a path on its machine')
    .option('--tls-key <file>', 'private key of the server (PEM), as a path on its machine')
    .addOption(scaleOption())
    .addOption(outputOption())
    .action(async (options: IdentitiesOptions, command: Command) => {
      await identities(command.optsWithGlobals<{ node: string }>().node, options);
    });
}

async function identities(node: string, options: IdentitiesOptions): Promise<void> {
  const { output, scale, host, tlsCert, tlsKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UserError('--tls-cert and --tls-key must be given together');
  const tls = tlsCert === undefined || tlsKey === undefined ? undefined : { cert: tlsCert, key: tlsKey };
  const folder = natsFolder(resolve(options.natsFolder));
  const nodes = await addNode(folder, node, scale, { host, tls });
  if (output !== undefined) {
    printKubusDocument('Identities', { ...folder, nodes }, output);
    return;
  }
  print(`${folder.config}
  admits ${nodes.join(', ')}; the keys are in ${folder.identities}
Start a NATS server with this file, or make a running one reload it, twice for a new node:
  docker compose -f examples/nats/docker-compose.yml up -d  |  nats-server -c ${folder.config}
  docker compose -f examples/nats/docker-compose.yml kill --signal HUP nats  |  nats-server --signal reload`);
}
