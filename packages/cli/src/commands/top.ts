import type { NodeClient } from '@kubus/node-client';
import { type Command, Option } from 'commander';
import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { nodeApi, rootDirOption } from '../node-socket.ts';
import { isMeant, notFound } from '../pods.ts';
import { type Summary, needsSecondLook, nodeUsage, podUsages, summarySchema } from '../top/summary.ts';
import { type SortKey, nodeTable, podTable } from '../top/usage-table.ts';

/** Between two looks that give a rate, milliseconds. */
const LOOK_AGAIN_MS = 1_000;

interface TopPodsOptions {
  namespace: string;
  allNamespaces?: boolean;
  containers?: boolean;
  sortBy?: SortKey;
}

export function addTop(program: Command): void {
  const top = program.command('top').description('processor and memory that the node and its pods use now');
  top
    .command('node')
    .description('of the node as a whole')
    .addOption(rootDirOption())
    .action(async (_options: object, command: Command) => {
      const { summary, earlier } = await look(nodeApi(command));
      console.log(nodeTable(nodeUsage(summary, earlier), cpus().length));
    });
  top
    .command('pods')
    .alias('pod')
    .description('of pods, or of their containers')
    .argument('[pod]', 'this pod alone')
    .option('-n, --namespace <namespace>', 'their namespace', 'default')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--containers', 'each container by itself')
    .addOption(new Option('--sort-by <usage>', 'what uses most first').choices(['cpu', 'memory']))
    .addOption(rootDirOption())
    .action(async (pod: string | undefined, options: TopPodsOptions, command: Command) => {
      await topPods(nodeApi(command), pod, options);
    });
}

async function topPods(client: NodeClient, name: string | undefined, options: TopPodsOptions): Promise<void> {
  const { namespace, allNamespaces: namespaces = false, containers = false, sortBy } = options;
  const { summary, earlier } = await look(client);
  const { nodeName } = summary.node;
  const pods = podUsages(summary, earlier)
    .filter((pod) => namespaces || pod.namespace === namespace)
    .filter((pod) => name === undefined || isMeant(name, pod, nodeName));
  if (name !== undefined && pods.length === 0) throw notFound(name, namespace);
  if (pods.length === 0) console.error(`No pods run in ${namespaces ? 'any' : namespace} namespace.`);
  else console.log(podTable(pods, { namespaces, containers, sortBy }));
}

/** The node's statistics; where it knows no rates yet, with those of a moment before. */
async function look(client: NodeClient): Promise<{ summary: Summary; earlier?: Summary }> {
  const read = async () => summarySchema.parse(JSON.parse(await client.get('/stats/summary')));
  const first = await read();
  if (!needsSecondLook(first)) return { summary: first };
  await wait(LOOK_AGAIN_MS);
  return { summary: await read(), earlier: first };
}
