import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type MachineNetwork,
  forwardingRules,
  freeSubnet,
  gatewayOf,
  hasSharedChains,
  markedBridges,
  rulesToAdd,
  rulesToRemove,
} from '@kubus/cni-config';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';
import { nodeNames } from '../node/list-nodes.ts';
import { type NodeDir, type NodeDirOptions, nodeDir } from '../node/node-dir.ts';
import { type Command, runCommand } from '../processes/command.ts';
import { inNetworkNamespace, isNetworkNamespace, keepNetworkNamespace } from './network-namespace.ts';

/** What a node on the machine's network has made there, with what it was before. Written before anything is made. */
const recordSchema = z.object({
  bridge: z.string(),
  subnet: z.string(),
  /** Whether the machine had the chains that all networks with host ports share. */
  hadShared: z.boolean(),
  /** Only where the machine did not forward IPv4. */
  forwarding: z
    .object({
      /** Files below /proc/sys/net/ipv4 with their values; all change with the first. */
      sysctls: z.array(z.tuple([z.string(), z.string()])),
      /** Rules that others had for forwarded packets. */
      rules: z.array(z.string()),
    })
    .optional(),
});
type MachineRecord = z.infer<typeof recordSchema>;

/** Runs a command in the network that a node joins or is in. */
type Run = (command: Command) => Promise<string>;

/**
 * Private ranges (RFC 1918), first those that Podman (10.88.0.0/16 and up), Docker (172.17.0.0/16 and up) and the usual pod networks do
 * not take for networks that they make later.
 */
const candidates: readonly string[] = [
  ...Array.from({ length: 40 }, (_, index) => `10.${87 - index}.0.0/16`),
  ...Array.from({ length: 8 }, (_, index) => `172.${31 - index}.0.0/16`),
];

/** How often a change of the packet filter is tried again because another program has changed it meanwhile. */
const TRIES = 5;

/** All that changes when a machine begins or ends to forward IPv4: the first line is that of ip_forward, which changes the others. */
const readForwarding = `cd /proc/sys/net/ipv4
for file in ip_forward conf/all/accept_redirects conf/*/forwarding; do echo "$file $(cat "$file")"; done`;

/** Arguments: files and values, in turn. That of an interface that is gone is left out. */
const writeForwarding = `set -e
cd /proc/sys/net/ipv4
while test $# -gt 1; do
  test ! -e "$1" || echo "$2" >"$1"
  shift 2
done`;

/** Deletes the bridge $1 with its ports, which would otherwise last until the kernel has ended the network namespaces of the pods. */
const unlink = `test -e "/proc/sys/net/ipv4/conf/$1" || exit 0
for port in $(ip -oneline link show master "$1" | sed -E 's/^[0-9]+: ([^:@]+).*/\\1/'); do
  ip link delete "$port" || test ! -e "/proc/sys/net/ipv4/conf/$port"
done
ip link delete "$1"`;

/** The name of a node's bridge on the machine: 15 characters at most (IFNAMSIZ), the node's own name where it fits. */
export function bridgeOf(node: string): string {
  const fits = /^[a-z0-9-]{1,9}$/.test(node);
  const digest = createHash('sha256').update(node).digest('hex');
  return `kubus-${fits ? node : digest.slice(0, 9)}`;
}

/**
 * Throws when the node cannot be on the network of the calling process. Harmless when it is there already.
 *
 * @throws LauncherError `NetworkTaken` that says what is in its way.
 */
export async function checkMachineNetwork(dir: NodeDir, options: NodeDirOptions = {}): Promise<void> {
  if ((await readRecord(dir)) === undefined) await plan(dir, runCommand, options);
}

/**
 * Puts the node on the network of the calling process: keeps its namespace at `dir.networkNamespace`, and makes a bridge for pods, rules of
 * the packet filter and IPv4 forwarding. {@link leaveMachineNetwork} takes it all back. A node that is on a network already stays there, and
 * gets back what is missing.
 *
 * @throws LauncherError `NetworkTaken`.
 */
export async function joinMachineNetwork(dir: NodeDir, options: NodeDirOptions = {}): Promise<MachineNetwork> {
  const { networkNamespace } = dir;
  if (!(await isNetworkNamespace(networkNamespace))) await keepNetworkNamespace(networkNamespace);
  const run = inside(dir);
  const record = (await readRecord(dir)) ?? (await plan(dir, run, options));
  await writeFile(`${recordFile(dir)}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${recordFile(dir)}.new`, recordFile(dir));
  const { bridge, subnet } = record;
  const gateway = `${gatewayOf(subnet)}/${subnet.split('/')[1] ?? ''}`;
  const setUp = `set -e
test -e /proc/sys/net/ipv4/conf/${bridge} || ip link add ${bridge} type bridge
ip address replace ${gateway} dev ${bridge}
ip link set ${bridge} up
test "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 || echo 1 >/proc/sys/net/ipv4/ip_forward`;
  await run(['sh', '-c', setUp]);
  await changeRules(dir, (saved) => rulesToAdd(record, saved));
  return { bridge, subnet };
}

/**
 * Takes back what a node has changed on the machine's network. No process of it may run. Harmless when there is nothing.
 *
 * @returns what stays, because others have come to need it
 */
export async function leaveMachineNetwork(dir: NodeDir): Promise<string | undefined> {
  const record = await readRecord(dir);
  // A restart of the machine ends its network, and removes the record.
  if (record === undefined || !(await isNetworkNamespace(dir.networkNamespace))) return undefined;
  const { bridge, hadShared, forwarding } = record;
  const run = inside(dir);
  await run(['sh', '-c', unlink, 'sh', bridge]);
  await changeRules(dir, (saved) => rulesToRemove(bridge, saved, hadShared));
  if (forwarding === undefined) return undefined;
  const others = forwardingRules(await run(['iptables-save'])).filter((rule) => !forwarding.rules.includes(rule));
  if (others.length > 0) {
    return `net.ipv4.ip_forward stays 1: another program has rules for forwarded packets now, such as "${others[0] ?? ''}"`;
  }
  await run(['sh', '-c', writeForwarding, 'sh', ...forwarding.sysctls.flat()]);
  return undefined;
}

/** On the network of the calling process: the bridges of nodes, and those that firewall rules of nodes name. Only root sees the rules. */
export async function bridgesOfNodes(): Promise<string[]> {
  const links = (await readdir('/proc/sys/net/ipv4/conf').catch(() => [])).filter((name) => name.startsWith('kubus-'));
  const saved = await runCommand(['iptables-save']).catch(() => '');
  return [...new Set([...links, ...markedBridges(saved)])].sort();
}

/** What the node will make, and what the machine has now. */
async function plan(dir: NodeDir, run: Run, options: NodeDirOptions): Promise<MachineRecord> {
  const bridge = bridgeOf(dir.node);
  const first = await otherNode(dir, options);
  if (first !== undefined) {
    const why = 'the two would share its forwarding and the chains of host ports';
    throw taken(`node ${first} is on this network: ${why}; give one of them --network nat`);
  }
  const links = await run(['ls', '/proc/sys/net/ipv4/conf']);
  if (links.split('\n').includes(bridge))
    throw taken(`the machine has an interface ${bridge}: remove it, or name the node otherwise`);
  const routes = z
    .array(z.object({ dst: z.string().default('') }))
    .parse(JSON.parse((await run(['ip', '-4', '-json', 'route', 'show', 'table', 'all'])) || '[]'));
  const subnet = freeSubnet(
    candidates,
    routes.map(({ dst }) => dst),
  );
  if (subnet === undefined) {
    throw taken('routes of the machine overlap all ranges for its pods: 10.48.0.0/16 to 10.87.0.0/16, 172.24.0.0/13');
  }
  const saved = await run(['iptables-save']);
  const sysctls = (await run(['sh', '-c', readForwarding]))
    .trim()
    .split('\n')
    .map((line): [string, string] => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]);
  const isForwarding = sysctls[0]?.[1] === '1';
  return {
    ...{ bridge, subnet, hadShared: hasSharedChains(saved) },
    ...(!isForwarding && { forwarding: { sysctls, rules: forwardingRules(saved) } }),
  };
}

/** Another node of the machine on the network of the calling process. */
async function otherNode(dir: NodeDir, options: NodeDirOptions): Promise<string | undefined> {
  const { ino } = await stat('/proc/self/ns/net');
  for (const name of await nodeNames(options)) {
    const other = nodeDir(name, options);
    if (other.run === dir.run || !existsSync(recordFile(other))) continue;
    if ((await stat(other.networkNamespace).catch(() => undefined))?.ino === ino) return name;
  }
  return undefined;
}

/** Makes a change of the packet filter as a whole, or none of it. */
async function changeRules(dir: NodeDir, change: (saved: string) => string): Promise<void> {
  const run = inside(dir);
  for (let turn = 1; ; turn++) {
    const input = change(await run(['iptables-save']));
    if (input === '') return;
    const error = await restoreRules(dir, input);
    if (error === undefined) return;
    if (turn === TRIES) throw new LauncherError('CommandFailed', `iptables-restore: ${error}`);
  }
}

/** Returns the error of the program. */
async function restoreRules(dir: NodeDir, input: string): Promise<string | undefined> {
  const [program, ...args] = inNetworkNamespace(dir.networkNamespace, ['iptables-restore', '--noflush', '--wait']);
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.on('error', () => undefined).end(input);
  const [message] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return child.exitCode === 0 ? undefined : message.trim();
}

function inside(dir: Pick<NodeDir, 'networkNamespace'>): Run {
  return (command) => runCommand(inNetworkNamespace(dir.networkNamespace, command));
}

function recordFile(dir: Pick<NodeDir, 'run'>): string {
  return join(dir.run, 'machine-network.json');
}

async function readRecord(dir: NodeDir): Promise<MachineRecord | undefined> {
  const found = await readFile(recordFile(dir), 'utf8').catch(() => undefined);
  return found === undefined ? undefined : recordSchema.parse(JSON.parse(found));
}

function taken(why: string): LauncherError {
  return new LauncherError('NetworkTaken', `--network host is not possible: ${why}`);
}
