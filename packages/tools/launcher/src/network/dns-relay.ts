import { join } from 'node:path';
import type { NodeDir } from '../node/node-dir.ts';
import { runCommand } from '../processes/command.ts';
import { type StartedProcess, startProcess } from '../processes/start-process.ts';
import { inNetworkNamespace } from './network-namespace.ts';

/** The names under which the relays for queries over UDP and over TCP are recorded. */
export const dnsRelay = 'dns-relay';
export const dnsTcpRelay = 'dns-tcp-relay';

/** The TCP and UDP port of DNS. */
export const DNS_PORT = 53;

/** Where a node and its pods reach a resolver that listens on the machine's loopback (RFC 5737, as the node's own address). */
export const NODE_DNS = '192.0.2.53';

/**
 * Gives the node's network namespace the address {@link NODE_DNS}, and has its own processes, which read the machine's resolv.conf, reach
 * it under the resolver's address. Harmless to repeat.
 */
export async function prepareDns(dir: Pick<NodeDir, 'networkNamespace'>, resolver: string): Promise<void> {
  const script = `set -e
ip address replace ${NODE_DNS}/32 dev lo
for protocol in udp tcp; do
  rule="OUTPUT --destination ${resolver} --protocol $protocol --dport ${DNS_PORT} --jump DNAT --to-destination ${NODE_DNS}"
  iptables --wait --table nat --check $rule 2>/dev/null || iptables --wait --table nat --append $rule
done`;
  await runCommand(inNetworkNamespace(dir.networkNamespace, ['sh', '-c', script]));
}

/** Starts the relay of queries over UDP to a resolver on the machine's loopback. */
export function startDnsRelay(dir: NodeDir, program: string, resolver: string): Promise<StartedProcess> {
  const port = String(DNS_PORT);
  const command = [program, NODE_DNS, port, dir.machineNamespace, resolver, port] as const;
  return startProcess({
    dir,
    what: dnsRelay,
    command: inNetworkNamespace(dir.networkNamespace, command),
    log: join(dir.logs, `${dnsRelay}.log`),
  });
}
