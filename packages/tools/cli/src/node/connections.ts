import { type NodeDir, type NodeSettings, parsePublishedPort, wayOut } from '@kubus/launcher';
import { join } from 'node:path';

/** What connects a node with the machine's network. */
export interface Connections {
  readonly network: NodeSettings['network'];
  /** IP versions in which pods and pulls reach other networks: `IPv4`, `IPv6`. */
  readonly wayOut: readonly string[];
  /** Why nothing is reached. */
  readonly problem?: string;
  /** Ports of the machine that lead to ports of the node. */
  readonly published: readonly string[];
  /** Registries on the machine's loopback. */
  readonly registries: readonly string[];
  /** What the node has on the machine's network. */
  readonly machine?: { readonly bridge: string; readonly subnet: string };
}

/** An interface with the IP version of each of its addresses, as Node.js lists them. */
type Interfaces = Readonly<Record<string, readonly { family: string; address: string }[] | undefined>>;

/** @param interfaces those of the node's network namespace */
export function connectionsOf(
  dir: Pick<NodeDir, 'logs'>,
  settings: Pick<NodeSettings, 'network' | 'publish' | 'registries' | 'bridge' | 'subnet'>,
  interfaces: Interfaces,
): Connections {
  const { network, publish: published, registries } = settings;
  if (network === 'none') return { network, wayOut: [], published, registries };
  if (network === 'host') {
    const { bridge, subnet } = settings;
    const others = Object.entries(interfaces).filter(([name]) => name !== 'lo' && name !== bridge);
    const wayOut = familiesOf(others.flatMap(([, addresses = []]) => addresses));
    return { network, wayOut, published, registries, machine: { bridge, subnet } };
  }
  const families = familiesOf(interfaces[wayOut] ?? []);
  const problem = `it does not work: see ${join(dir.logs, `${wayOut}.log`)}`;
  return { network, wayOut: families, published, registries, ...(families.length === 0 && { problem }) };
}

function familiesOf(addresses: readonly { family: string; address: string }[]): string[] {
  const routed = addresses.filter(({ address }) => !address.startsWith('fe80:'));
  return [...new Set(routed.map(({ family }) => family))].sort();
}

/** The lines of `kubus status`. */
export function connectionLines(connections: Connections): string[] {
  const { network, wayOut, problem, published, registries, machine } = connections;
  const reaches =
    network === 'none'
      ? 'only this node is reached; "kubus up --restart --network nat" changes that'
      : machine !== undefined
        ? `the node is on the machine's network, its pods are behind the bridge ${machine.bridge} in ${machine.subnet}`
        : (problem ?? `over the machine's connections, ${wayOut.join(' and ')}`);
  const ports = published.map((text) => {
    const { address, port, nodePort } = parsePublishedPort(text);
    return `${address.includes(':') ? `[${address}]` : address}:${port} is port ${nodePort} of the node`;
  });
  return [
    `way out  ${network}: ${reaches}`,
    ...(ports.length > 0 ? [`ports    ${ports.join(', ')}`] : []),
    ...(registries.length > 0 ? [`registries of the machine  ${registries.join(', ')}`] : []),
  ];
}
