import { rm, writeFile } from 'node:fs/promises';
import { type Command, runCommand } from './command.ts';
import { mountsUnder } from './mounts.ts';

/** A private node's address in its cluster. The same for all: nobody outside of the node's network reaches it (RFC 5737). */
export const PRIVATE_NODE_IP = '192.0.2.1';

/**
 * What CNI bridges need: forwarding between the bridge and its ports, and bridged packets shown to iptables, without
 * which a service address does not reach a pod on the same bridge. The second exists only where the kernel has
 * br_netfilter.
 */
const setUp = `set -e
ip link set lo up
ip address replace ${PRIVATE_NODE_IP}/32 dev lo
cd /proc/sys/net
for sysctl in ipv4/ip_forward ipv6/conf/all/forwarding bridge/bridge-nf-call-iptables bridge/bridge-nf-call-ip6tables; do
  test ! -e $sysctl || echo 1 >$sysctl
done`;

/**
 * Makes a network namespace that stays until it is deleted, mounted on `file`, with its loopback up,
 * an address for the node, and forwarding on.
 * Harmless when it is there. It is mounted on a file of the node and not in /run/netns: `ip netns` leaves a mount of its
 * own behind there.
 */
export async function createNetworkNamespace(file: string): Promise<void> {
  if (!(await isNetworkNamespace(file))) {
    await writeFile(file, '', { mode: 0o600 });
    await runCommand(['unshare', `--net=${file}`, 'true']);
  }
  await runCommand(inNetworkNamespace(file, ['sh', '-c', setUp]));
}

/**
 * Keeps the network namespace of the calling process at hand: mounts it on `file` until {@link deleteNetworkNamespace}.
 * Another one that is mounted there is replaced.
 */
export async function keepNetworkNamespace(file: string): Promise<void> {
  await deleteNetworkNamespace(file);
  await writeFile(file, '', { mode: 0o600 });
  await runCommand(['mount', '--bind', '/proc/self/ns/net', file]);
}

/** True when a network namespace is mounted on `file`. */
export async function isNetworkNamespace(file: string): Promise<boolean> {
  const mounts = await mountsUnder(file);
  return mounts.some(({ target, source }) => target === file && source.startsWith('net:['));
}

/**
 * `command` as one that runs in the namespace. With nsenter and not `ip netns exec`, which would replace /sys and so
 * hide the cgroups; nsenter becomes the command, so its pid is the command's.
 */
export function inNetworkNamespace(file: string, command: Command): Command {
  return ['nsenter', `--net=${file}`, '--', ...command];
}

/**
 * Unmounts the namespace and removes its file; harmless when there is none. The kernel frees it, with all links,
 * addresses and firewall rules in it, when its last process has ended.
 */
export async function deleteNetworkNamespace(file: string): Promise<void> {
  for (const { target } of await mountsUnder(file)) {
    await runCommand(['umount', '--', target]);
  }
  await rm(file, { force: true });
}
