import { join, resolve } from 'node:path';
import { Option } from 'commander';

/** The checkout's folder: this program is `packages/tools/cli/dist/main.mjs` in it. */
export const checkout = resolve(import.meta.dirname, '../../../..');

/** `--nats-folder`: the keys of the nodes and the configuration of an external NATS server. examples/nats/docker-compose.yml reads the default folder. */
export function natsFolderOption(): Option {
  return new Option(
    '--nats-folder <path>',
    'folder with the keys of the nodes and the configuration of the external NATS server',
  )
    .default(join(checkout, '.kubus/nats'), '.kubus/nats in the checkout')
    .env('KUBUS_NATS_FOLDER');
}
