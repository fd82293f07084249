import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startConnections } from '../src/network/connections.ts';
import {
  createNetworkNamespace,
  deleteNetworkNamespace,
  inNetworkNamespace,
} from '../src/network/network-namespace.ts';
import type { NodeDir } from '../src/node/node-dir.ts';
import { nodeSettingsSchema } from '../src/node/node-settings.ts';
import { type Command, runCommand } from '../src/processes/command.ts';
import { nodeMark } from '../src/processes/process-record.ts';
import type { StartedProcess } from '../src/processes/start-process.ts';
import { afterTest, testFolder, testNode } from './support.ts';

/** What stands for the machine's network: a way to other networks, and addresses behind it. */
const machine = `set -e
ip link set lo up
ip link add uplink type veth peer name network
ip address add 203.0.113.2/24 dev uplink
ip address add 2001:db8:1::2/64 dev uplink nodad
ip address add 2001:db8:9::9/128 dev lo nodad
ip link set network up
ip link set uplink up
ip route add default via 203.0.113.1
ip -6 route add default via 2001:db8:1::1 dev uplink`;

let cache = '';
beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'kubus-launcher-'));
});
afterAll(() => rm(cache, { recursive: true, force: true }));

const inside = (file: string, ...command: Command) => runCommand(inNetworkNamespace(file, command));
const fetched = (file: string, url: string) => inside(file, 'curl', '--silent', url);
/** For what is not answered at all. */
const isFetched = (file: string, url: string) =>
  inside(file, 'curl', '--silent', '--max-time', '0.3', url).then(
    () => true,
    () => false,
  );

/** Starts programs of a namespace that end with the node. Resolves when they listen. */
async function serve(dir: NodeDir, namespace: string, ...where: string[]): Promise<void> {
  const program = join(import.meta.dirname, 'machine-servers.mjs');
  const [command, ...args] = inNetworkNamespace(namespace, [process.execPath, program, ...where]);
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, [nodeMark]: dir.root },
  });
  await once(child.stdout, 'data');
}

/** A node's folders with both namespaces, and everything that listens in that of the machine. */
async function connectedNode(): Promise<NodeDir> {
  const dir = await testNode();
  for (const file of [dir.machineNamespace, dir.networkNamespace]) {
    await createNetworkNamespace(file);
  }
  await inside(dir.machineNamespace, 'sh', '-c', machine);
  await inside(dir.machineNamespace, 'sh', '-c', 'echo 0 >/proc/sys/net/ipv4/ip_forward');
  await serve(dir, dir.machineNamespace, '203.0.113.2 80', '2001:db8:9::9 80', '127.0.0.1 5000', '127.0.0.1 5001');
  return dir;
}

/** Starts the connections; resolves with them and the resolv.conf of pods. */
async function connect(dir: NodeDir, given: object): Promise<{ started: StartedProcess[]; resolvConf: string }> {
  const resolvConf = join(dir.root, 'resolv.conf');
  await writeFile(resolvConf, 'search team.example\nnameserver 127.0.0.53\nnameserver 127.0.0.54\noptions edns0\n');
  const settings = nodeSettingsSchema.parse({ manifests: '', programs: {}, images: [], cache, ...given });
  const starting: Promise<StartedProcess>[] = [];
  const pods = await startConnections({ dir, settings, resolvConf, keep: (_, start) => starting.push(start()) });
  return { started: await Promise.all(starting), resolvConf: pods };
}

/** A name server asked by name, with the address that it answers. */
const lookUp = `const { Resolver } = require('node:dns/promises');
const resolver = new Resolver({ timeout: 500, tries: 4 });
resolver.setServers([process.argv[1]]);
resolver.resolve4(process.argv[2]).then((found) => console.log(found.join()));`;

/** Waits until the connections work; a relay listens shortly after its start. */
async function untilFetched(file: string, url: string): Promise<string> {
  return inside(file, 'curl', '--silent', '--retry', '20', '--retry-delay', '1', '--retry-all-errors', url);
}

/** What a node must not change. */
async function stateOf(namespace: string): Promise<string> {
  const commands: Command[] = [
    ['iptables-save'],
    ['ip6tables-save'],
    ['ip', '-oneline', 'address'],
    ['ip', 'route'],
    ['ip', '-6', 'route'],
    ['sh', '-c', 'cd /proc/sys/net && grep -r . ipv4/ip_forward ipv4/conf/*/forwarding ipv6/conf/*/forwarding'],
  ];
  const texts = await Promise.all(commands.map((command) => inside(namespace, ...command)));
  return texts.join('').replace(/^#.*$|\[\d+:\d+\]| tentative/gm, '');
}

test('nat: the node and its pods reach other networks over IPv4, the node over IPv6, with the DNS of the machine', async () => {
  const dir = await connectedNode();
  const before = await stateOf(dir.machineNamespace);
  const { resolvConf } = await connect(dir, { network: 'nat' });
  expect(await readFile(resolvConf, 'utf8')).toBe('search team.example\nnameserver 192.0.2.53\n\noptions edns0\n');
  expect(await untilFetched(dir.networkNamespace, 'http://203.0.113.2/')).toBe('answer of 203.0.113.2 80');
  expect(await fetched(dir.networkNamespace, 'http://[2001:db8:9::9]/')).toBe('answer of 2001:db8:9::9 80');

  // A pod: a namespace behind one of the node's, with an address that only the node knows.
  const pod = join(await testFolder(), 'pod');
  await createNetworkNamespace(pod);
  afterTest(() => deleteNetworkNamespace(pod));
  const link = `ip link add pod type veth peer name eth0 netns ${pod} && ip address add 10.88.0.1/16 dev pod && ip link set pod up`;
  await inside(dir.networkNamespace, 'sh', '-c', link);
  const route = 'ip address add 10.88.0.2/16 dev eth0 && ip link set eth0 up && ip route add default via 10.88.0.1';
  await inside(pod, 'sh', '-c', route);
  expect(await fetched(pod, 'http://203.0.113.2/')).toBe('answer of 203.0.113.2 80');

  // The node's own processes read the machine's resolv.conf, pods have the node's. A truncated answer is asked for again over TCP.
  for (const [where, resolver] of [
    [dir.networkNamespace, '127.0.0.53'],
    [pod, '192.0.2.53'],
  ] as const) {
    for (const name of ['registry.example', 'big.example']) {
      expect(await inside(where, process.execPath, '-e', lookUp, resolver, name)).toBe('203.0.113.2\n');
    }
  }

  // Only outgoing connections, and none to the machine's loopback.
  await serveInNode(dir);
  for (const [namespace, url] of [
    [dir.networkNamespace, 'http://198.51.100.1:5000/'],
    [dir.machineNamespace, 'http://127.0.0.1/'],
    [dir.machineNamespace, 'http://198.51.100.2/'],
  ] as const) {
    expect([url, await isFetched(namespace, url)]).toEqual([url, false]);
  }
  expect(await stateOf(dir.machineNamespace)).toBe(before);
});

/** A server of the node, as a pod with a host port is one. */
async function serveInNode(dir: NodeDir): Promise<void> {
  await serve(dir, dir.networkNamespace, '0.0.0.0 80');
}

test('none: only registries that were named are reached, and only published ports are open', async () => {
  const dir = await connectedNode();
  const before = await stateOf(dir.networkNamespace);
  const { started } = await connect(dir, {
    registries: ['localhost:5000'],
    publish: ['8080:80', '203.0.113.2:8081:80'],
  });
  await serveInNode(dir);
  expect(await untilFetched(dir.networkNamespace, 'http://localhost:5000/')).toBe('answer of 127.0.0.1 5000');
  expect(await untilFetched(dir.machineNamespace, 'http://127.0.0.1:8080/')).toBe('answer of 0.0.0.0 80');
  expect(await untilFetched(dir.machineNamespace, 'http://203.0.113.2:8081/')).toBe('answer of 0.0.0.0 80');
  for (const [namespace, url] of [
    [dir.networkNamespace, 'http://localhost:5001/'],
    [dir.networkNamespace, 'http://203.0.113.2/'],
    [dir.machineNamespace, 'http://203.0.113.2:8080/'],
  ] as const) {
    expect([url, await isFetched(namespace, url)]).toEqual([url, false]);
  }
  expect(await stateOf(dir.networkNamespace)).toBe(before);
  expect(started.map(({ record }) => record.what)).toEqual(['registry-5000', 'publish-8080', 'publish-8081']);
});
