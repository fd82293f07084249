import { join, resolve } from 'node:path';
import { Option } from 'commander';

/** The checkout: this program is `packages/cli/dist/main.mjs` in it. */
export const checkout = resolve(import.meta.dirname, '../../..');

/** Where the keys and the server's configuration for a NATS server of its own standing lie; examples/nats/docker-compose.yml reads them there. */
export function natsFolderOption(): Option {
  return new Option(
    '--nats-folder <path>',
    'keys of the nodes, and the configuration of the NATS server that they share',
  )
    .default(join(checkout, '.kubus/nats'), '.kubus/nats in the checkout')
    .env('KUBUS_NATS_FOLDER');
}
