import { type ListedNode, apiSocket, listNodes } from '@kubus/launcher';
import { NodeClient } from '@kubus/node-client';
import { formatAge } from '@kubus/pod';
import type { Command } from 'commander';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print, printError } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { requireRoot } from '../node/require-root.ts';
import { podListSchema } from '../pods/api-pods.ts';

/** How long a node may take to list its pods, in milliseconds. */
const ANSWER_MS = 1_000;
const MIB = 1024 * 1024;

export function addLs(program: Command): void {
  program
    .command('ls')
    .description('list the nodes of this machine, with their state, pods and memory')
    .addOption(outputOption())
    .action(async ({ output }: { output?: 'json' | 'yaml' }) => {
      requireRoot('ls');
      const nodes = await Promise.all((await listNodes()).map(async (node) => ({ ...node, pods: await podsOf(node) })));
      if (output !== undefined) {
        const items = nodes.map(({ dir, state, pods, memoryBytes, createdAt }) => {
          return { name: dir.node, state, pods, memoryBytes, createdAt: createdAt.toISOString(), folder: dir.root };
        });
        printKubusDocument('NodeList', { items }, output);
      } else if (nodes.length === 0) printError('This machine has no node: ./kubus up starts one.');
      else {
        const rows = nodes.map(({ dir, state, pods, memoryBytes, createdAt }) => [
          dir.node,
          state,
          pods === undefined ? '-' : String(pods),
          memoryBytes === undefined ? '-' : `${Math.round(memoryBytes / MIB)}Mi`,
          formatAge(Date.now() - createdAt.getTime()),
        ]);
        print(formatTable(['NAME', 'STATE', 'PODS', 'MEMORY', 'AGE'], rows));
      }
    });
}

/** How many pods the node has; undefined when its API does not answer. */
async function podsOf({ dir }: ListedNode): Promise<number | undefined> {
  const counted = new NodeClient(apiSocket(dir))
    .get('/pods')
    .then((text) => podListSchema.parse(JSON.parse(text)).items.length);
  return Promise.race([counted.catch(() => undefined), wait(ANSWER_MS, undefined, { ref: false })]);
}
