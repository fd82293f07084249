import {
  type AnyDeclaration,
  type ServiceContract,
  contractsOf,
  everyServiceReads,
  patternOf,
  instanceJournal,
  refusedMessage,
  serviceInstance,
} from '@kubus/contracts';
import { nodeDir, processOf, readRecords, readSettings } from '@kubus/launcher';
import type { Command } from 'commander';
import { Option } from 'commander';
import { printKubusDocument } from '../output/documents.ts';
import { print } from '../output/output.ts';

interface Edges {
  readonly about: string;
  readonly writes: readonly string[];
  readonly reads: readonly string[];
  /** The process that the service shares with others on this node. */
  readonly process?: string;
}

interface GraphOptions {
  faults?: boolean;
  output?: 'json' | 'yaml' | 'dot';
}

export function addGraph(program: Command): void {
  program
    .command('graph')
    .argument('[service]', 'show only this service')
    .description('list the subjects that each service may publish and read')
    .option('--faults', 'include the subjects of nodes started with --faults')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['json', 'yaml', 'dot']))
    .action(async (service: string | undefined, options: GraphOptions, command: Command) => {
      const { node } = command.optsWithGlobals<{ node: string }>();
      const all = Object.entries(contractsOf({ faults: options.faults === true })).filter(
        ([name]) => service === undefined || name === service,
      );
      if (all.length === 0) command.error(`error: unknown service "${service ?? ''}"`, { exitCode: 2 });
      const process = await processes(node);
      const graph = new Map(all.map(([name, contract]) => [name, { ...edgesOf(node, contract), ...process(name) }]));
      if (options.output === undefined) printGraph(graph);
      else if (options.output === 'dot') print(dot(graph));
      else printKubusDocument('Graph', { services: Object.fromEntries(graph) }, options.output);
    });
}

/** Which service shares which process on the node, if it exists: one that runs elsewhere for a while has a process of its own. */
async function processes(node: string): Promise<(service: string) => Pick<Edges, 'process'>> {
  const dir = nodeDir(node);
  const [settings, records] = await Promise.all([readSettings(dir), readRecords(dir.processes)]);
  const own = new Set(records.map(({ what }) => what));
  return (service) => {
    const instance = `${service}-0`;
    const process = settings === undefined || own.has(instance) ? instance : processOf(instance, settings);
    return process === instance ? {} : { process };
  };
}

function edgesOf(node: string, contract: ServiceContract): Edges {
  const subjects = (declarations: readonly AnyDeclaration[]) =>
    declarations.map((declaration) => patternOf(node, declaration)).sort();
  return {
    about: contract.about,
    writes: subjects([
      ...contract.owns,
      ...contract.calls,
      ...contract.publishes,
      ...[serviceInstance, refusedMessage, instanceJournal],
    ]),
    reads: subjects([...new Set([...contract.reads, ...everyServiceReads]), ...contract.serves, ...contract.hears]),
  };
}

function printGraph(graph: ReadonlyMap<string, Edges>): void {
  for (const [service, { about, writes, reads, process }] of graph) {
    print(`${service}${process === undefined ? '' : ` (in process ${process})`}: ${about}`);
    for (const subject of writes) print(`  writes  ${subject}`);
    for (const subject of reads) print(`  reads   ${subject}`);
  }
}

function dot(graph: ReadonlyMap<string, Edges>): string {
  const lines = [...graph].flatMap(([service, { writes, reads }]) => [
    ...writes.map((subject) => `  "${service}" -> "${subject}";`),
    ...reads.map((subject) => `  "${subject}" -> "${service}";`),
  ]);
  const services = [...graph].map(([service, { process }]) => {
    const box = `"${service}" [shape=box];`;
    // Graphviz draws a frame around the nodes of a subgraph whose name begins with cluster.
    return process === undefined ? `  ${box}` : `  subgraph "cluster ${process}" { label="${process}"; ${box} }`;
  });
  return ['digraph kubus {', '  rankdir=LR;', ...services, ...lines, '}'].join('\n');
}
