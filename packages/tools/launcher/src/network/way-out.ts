import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';
import type { NodeDir } from '../node/node-dir.ts';
import { runCommand } from '../processes/command.ts';
import { type StartedProcess, startProcess } from '../processes/start-process.ts';
import { inNetworkNamespace } from './network-namespace.ts';

/** The name under which the process is recorded, and that of its interface in the node's network namespace. */
export const wayOut = 'way-out';

/** Addresses for documentation (RFC 5737), which no network has: the node's interface hides none that pods may want to reach. */
const ADDRESS = '198.51.100.2';
const GATEWAY = '198.51.100.1';

const TUN = '/dev/net/tun';

/** Pods have addresses that only the node's namespace knows. */
const masquerade = `rule="POSTROUTING --out-interface ${wayOut} --jump MASQUERADE"
iptables --wait --table nat --check $rule 2>/dev/null || iptables --wait --table nat --append $rule`;

/**
 * Throws when a node on this machine can have no way out.
 *
 * @throws LauncherError `NoWayOut` that says what is missing.
 */
export async function checkWayOut(): Promise<void> {
  if (!existsSync(TUN)) throw new LauncherError('NoWayOut', `there is no ${TUN}: load the kernel module tun`);
  await runCommand(['pasta', '--version']).catch((cause: unknown) => {
    throw new LauncherError('NoWayOut', 'pasta does not run: install the package passt', { cause });
  });
}

/** Has the packets of pods leave under the address of the node; harmless to repeat. Only the node's network namespace is changed. */
export async function prepareWayOut(dir: Pick<NodeDir, 'networkNamespace'>): Promise<void> {
  await runCommand(inNetworkNamespace(dir.networkNamespace, ['sh', '-c', masquerade]));
}

/**
 * Starts the node's way out: pasta, which makes each connection of the node's network namespace one of its own process in the machine's
 * network, whose namespace must be mounted at `dir.machineNamespace`. So nothing of the machine is changed. Connections into the node
 * and to the machine's loopback are not forwarded. IPv6 exists if the machine has a route for it.
 *
 * It keeps root, which entering the namespace needs, and drops every other capability than that, all files and most system calls.
 */
export function startWayOut(dir: NodeDir): Promise<StartedProcess> {
  const noPorts = ['--tcp-ports', '--udp-ports', '--tcp-ns', '--udp-ns'].flatMap((option) => [option, 'none']);
  const address = ['--address', ADDRESS, '--netmask', '24', '--gateway', GATEWAY, '--no-map-gw'];
  const namespace = ['--netns-only', '--netns', dir.networkNamespace, '--config-net', '--ns-ifname', wayOut];
  return startProcess({
    dir,
    what: wayOut,
    command: inNetworkNamespace(dir.machineNamespace, [
      ...(['pasta', '--foreground', '--quiet', '--runas', '0'] as const),
      ...namespace,
      ...address,
      ...noPorts,
    ]),
    log: join(dir.logs, `${wayOut}.log`),
  });
}
