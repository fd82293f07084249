import { runtimeCondition } from '@kubus/contracts';
import { nodeVersion } from '@kubus/node-status';
import { version } from '@kubus/service-kit';
import type { Command } from 'commander';
import { connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';

interface NodeVersions {
  /** The versions of its services: one, unless some were started at another time. */
  readonly services: readonly string[];
  readonly nats: string;
  readonly runtime: string;
}

export function addVersion(program: Command): void {
  program
    .command('version')
    .description('print the versions of this program and of the node, if it is running')
    .option('--client', 'print the versions of this program only')
    .addOption(outputOption())
    .action(async ({ client, output }: { client?: boolean; output?: 'json' | 'yaml' }, command: Command) => {
      const own = ownVersions();
      const { node: name } = command.optsWithGlobals<{ node: string }>();
      const node = client === true ? undefined : await versionsOf(name);
      if (output !== undefined) {
        printKubusDocument('Version', { client: own, node }, output);
        return;
      }
      print(`Kubus:       ${own.kubus}`);
      print(`Kubernetes:  ${own.kubernetes}`);
      print(`Node.js:     ${own.nodeJs}`);
      if (client === true) return;
      if (node === undefined) print(`node ${name}:  is not running`);
      else print(`node ${name}:  services ${node.services.join(', ')}; nats-server ${node.nats}; ${node.runtime}`);
    });
}

/** The versions of this program. */
export function ownVersions(): { kubus: string; kubernetes: string; nodeJs: string } {
  return { kubus: version, kubernetes: nodeVersion(version), nodeJs: process.versions.node };
}

/** The versions of a node; undefined when it cannot be reached. */
export async function versionsOf(name: string): Promise<NodeVersions | undefined> {
  const link = await connectNode(name).catch(() => undefined);
  if (link === undefined) return undefined;
  const [runtime] = [...(await link.facts(runtimeCondition))].map(({ value }) => value);
  return {
    // Without the digest of the program, which each service has of its own.
    services: [...new Set([...link.bus.peers].map((peer) => peer.version.replace(/\+.*$/, '')))].sort(),
    nats: link.connection.info?.version ?? 'unknown',
    runtime: runtime?.name === undefined ? 'runtime unknown' : `${runtime.name} ${runtime.version ?? ''}`.trimEnd(),
  };
}
