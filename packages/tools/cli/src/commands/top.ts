import type { NodeClient } from '@kubus/node-client';
import { type Command, Option } from 'commander';
import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { nodeApi, rootDirOption } from '../node/node-socket.ts';
import { matchesName, notFound } from '../pods/pods.ts';
import { type Summary, needsSecondSample, nodeUsage, podUsages, summarySchema } from '../top/summary.ts';
import { type SortKey, nodeTable, podTable } from '../top/usage-table.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print, printError } from '../output/output.ts';

/** Time between the two samples from which a rate is computed, in milliseconds. */
const SAMPLE_INTERVAL_MS = 1_000;

interface TopPodsOptions {
  namespace: string;
  allNamespaces?: boolean;
  containers?: boolean;
  sortBy?: SortKey;
  output?: 'json' | 'yaml';
}

export function addTop(program: Command): void {
  const top = program.command('top').description('show the CPU and memory usage of the node or its pods');
  top
    .command('node')
    .description('show the usage of the node')
    .addOption(rootDirOption())
    .addOption(outputOption())
    .action(async ({ output }: { output?: 'json' | 'yaml' }, command: Command) => {
      const { summary, earlier } = await readSummary(nodeApi(command));
      const [node, cores] = [nodeUsage(summary, earlier), cpus().length];
      if (output === undefined) print(nodeTable(node, cores));
      else printKubusDocument('NodeUsage', { node, cores }, output);
    });
  top
    .command('pods')
    .alias('pod')
    .description('show the usage of pods or of their containers')
    .argument('[pod]', 'show only this pod')
    .option('-n, --namespace <namespace>', 'namespace of the pods', 'default')
    .option('-A, --all-namespaces', 'show the pods of all namespaces')
    .option('--containers', 'show each container')
    .addOption(new Option('--sort-by <usage>', 'sort by usage, highest first').choices(['cpu', 'memory']))
    .addOption(rootDirOption())
    .addOption(outputOption())
    .action(async (pod: string | undefined, options: TopPodsOptions, command: Command) => {
      await topPods(nodeApi(command), pod, options);
    });
}

async function topPods(client: NodeClient, name: string | undefined, options: TopPodsOptions): Promise<void> {
  const { namespace, allNamespaces: namespaces = false, containers = false, sortBy, output } = options;
  const { summary, earlier } = await readSummary(client);
  const { nodeName } = summary.node;
  const pods = podUsages(summary, earlier)
    .filter((pod) => namespaces || pod.namespace === namespace)
    .filter((pod) => name === undefined || matchesName(name, pod, nodeName));
  if (name !== undefined && pods.length === 0) throw notFound(name, namespace);
  if (output !== undefined) printKubusDocument('PodUsageList', { items: pods }, output);
  else if (pods.length === 0) printError(`No pods are running in ${namespaces ? 'any' : namespace} namespace.`);
  else print(podTable(pods, { namespaces, containers, sortBy }));
}

/** The node's statistics; `earlier` is a first sample, taken when the node has no CPU rates yet. */
async function readSummary(client: NodeClient): Promise<{ summary: Summary; earlier?: Summary }> {
  const read = async () => summarySchema.parse(JSON.parse(await client.get('/stats/summary')));
  const first = await read();
  if (!needsSecondSample(first)) return { summary: first };
  await wait(SAMPLE_INTERVAL_MS);
  return { summary: await read(), earlier: first };
}
