import { rm, writeFile } from 'node:fs/promises';
import { bindMount, mountsBelow, unmount } from '@kubus/filesystem';
import { type Command, runCommand } from '../processes/command.ts';

/** The address of every private node in its cluster (RFC 5737); it is not reachable from outside of the node's network. */
export const PRIVATE_NODE_IP = '192.0.2.1';

/** The address of the Service of a private node's own Kubernetes API: the first one that services have. */
export const API_SERVICE_IP = '10.96.0.1';

/** The address of a private node's own DNS, as clusters of kubeadm have it. */
export const DNS_SERVICE_IP = '10.96.0.10';

/**
 * What CNI bridges need: IP forwarding, and iptables for bridged packets, without which a Service address does not reach a pod on the same
 * bridge. The second exists only with the kernel module br_netfilter.
 */
const setUp = (addresses: readonly string[]) => `set -e
ip link set lo up
${addresses.map((address) => `ip address replace ${address}/32 dev lo`).join('\n')}
cd /proc/sys/net
for sysctl in ipv4/ip_forward ipv6/conf/all/forwarding bridge/bridge-nf-call-iptables bridge/bridge-nf-call-ip6tables; do
  test ! -e $sysctl || echo 1 >$sysctl
done`;

/**
 * Creates a network namespace mounted on `file`, with the loopback up, an address for the node, and forwarding enabled. Harmless when it
 * exists. It is not in /run/netns, where `ip netns` would leave a mount behind.
 *
 * @param addresses more addresses of the node.
 */
export async function createNetworkNamespace(file: string, addresses: readonly string[] = []): Promise<void> {
  if (!(await isNetworkNamespace(file))) {
    await writeFile(file, '', { mode: 0o600 });
    await runCommand(['unshare', `--net=${file}`, 'true']);
  }
  await runCommand(inNetworkNamespace(file, ['sh', '-c', setUp([PRIVATE_NODE_IP, ...addresses])]));
}

/**
 * Mounts the network namespace of the calling process on `file` until {@link deleteNetworkNamespace}. Replaces another one mounted there.
 */
export async function keepNetworkNamespace(file: string): Promise<void> {
  await deleteNetworkNamespace(file);
  await writeFile(file, '', { mode: 0o600 });
  await bindMount('/proc/self/ns/net', file);
}

/** True when a network namespace is mounted on `file`. */
export async function isNetworkNamespace(file: string): Promise<boolean> {
  const mounts = await mountsBelow(file);
  return mounts.some(({ target, root }) => target === file && root.startsWith('net:['));
}

/**
 * The command line that runs `command` in the namespace. It uses nsenter, since `ip netns exec` would remount /sys and hide the cgroups;
 * nsenter execs the command, so the pid is the command's.
 */
export function inNetworkNamespace(file: string, command: Command): Command {
  return ['nsenter', `--net=${file}`, '--', ...command];
}

/**
 * Unmounts the namespace and removes its file; harmless when there is none. The kernel frees it with its links, addresses and firewall
 * rules when its last process has ended.
 */
export async function deleteNetworkNamespace(file: string): Promise<void> {
  for (const { target } of await mountsBelow(file)) {
    await unmount(target);
  }
  await rm(file, { force: true });
}
