import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import {
  type Command,
  bridgeOf,
  createNetworkNamespace,
  deleteNetworkNamespace,
  inNetworkNamespace,
  runCommand,
} from '@kubus/launcher';
import { hostProcess } from '@kubus/service-kit';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { container, pod } from '../src/pods.ts';
import { UserNode } from '../src/user-node.ts';

/** What stands for the machine's network: an address, a route into the first range for pods, and a rule of another program. */
const machine = `set -e
ip link add uplink type veth peer name network
ip address add 203.0.113.2/24 dev uplink
ip link set network up
ip link set uplink up
ip route add default via 203.0.113.1
ip route add 10.87.7.0/24 via 203.0.113.1
iptables -t nat -A POSTROUTING -s 172.17.0.0/16 -j MASQUERADE
cd /proc/sys/net/ipv4
echo 0 >ip_forward
echo 1 >conf/network/forwarding`;

const server = `require('node:http').createServer((_, answer) => answer.end('answer of the machine\\n'))
  .listen(8001, '0.0.0.0', () => console.log('listening'))`;

const folder = await mkdtemp(join(tmpdir(), 'kubus-host-network-'));
const network = join(folder, 'net');
const manifests = join(folder, 'web.json');
let node: UserNode;
let listener: ChildProcess;
let before: string[];

const inside = (...command: Command) => runCommand(inNetworkNamespace(network, command));

beforeAll(async () => {
  await createNetworkNamespace(network);
  await inside('sh', '-c', machine);
  const [command, ...args] = inNetworkNamespace(network, [process.execPath, '-e', server]);
  listener = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  if (listener.stdout !== null) await once(listener.stdout, 'data');
  const script = `echo page of the pod >/tmp/index.html && httpd -p 8000 -h /tmp
until wget -q -O - http://203.0.113.2:8001/; do sleep 0.1; done
exec sleep 1000`;
  const ports = [{ containerPort: 8000, hostPort: 8080 }];
  await writeFile(
    manifests,
    JSON.stringify(pod('web', { containers: [container({ name: 'main', command: ['sh', '-c', script], ports })] })),
  );
  node = await UserNode.prepare(network);
});
beforeEach(async () => {
  before = await stateOfMachine();
});
afterAll(async () => {
  await node.remove();
  listener.kill();
  await deleteNetworkNamespace(network);
  await rm(folder, { recursive: true });
});

/** What a node must leave as it was, one line each. */
async function stateOfMachine(): Promise<string[]> {
  const sysctls = 'cd /proc/sys/net && grep -r . ipv4/ip_forward ipv*/conf/*/forwarding ipv4/conf/*/accept_redirects';
  const commands: Command[] = [
    ['iptables-save'],
    ['ip6tables-save'],
    ['ip', '-oneline', 'address'],
    ['ip', 'route'],
    ['sh', '-c', sysctls],
  ];
  const texts = await Promise.all(commands.map((command) => inside(...command)));
  // Tables and their built-in chains come with the first look at them, IPv6 addresses are tentative at first.
  const kept = (line: string) => line !== '' && !/^(#|\*|COMMIT|:\S+ ACCEPT)/.test(line);
  return texts.flatMap((text) => text.replaceAll(' tentative', '').split('\n').filter(kept)).sort();
}

const up = (...args: string[]) =>
  node.up('--network', 'host', '--manifests', manifests, '--placement', 'hosted', ...args).outcome;
const fetched = (url: string) => inside('curl', '--silent', '--max-time', '5', url);

test('--network host: host ports and the machine are reached, and down takes back everything, also after a crash', async () => {
  expect(await up()).toMatchObject({ code: 0 });
  for (const host of ['203.0.113.2', '127.0.0.1']) {
    expect(await fetched(`http://${host}:8080/`)).toBe('page of the pod\n');
  }
  await poll('the answer of the machine', async () =>
    (await node.kubus('logs', 'web')).stdout === 'answer of the machine\n' ? true : undefined,
  );
  // Its ports are free ones: a kubelet's, and those of nodes in a network of their own, are not taken.
  const listening = (await inside('ss', '-Hltn')).matchAll(/ \S+:(\d+) /g);
  expect([...listening].map(([, port]) => Number(port)).filter((port) => port < 20_000)).toEqual([8001]);

  const { connections } = JSON.parse((await node.kubus('status', '-o', 'json')).stdout) as { connections: object };
  const bridge = bridgeOf(node.name);
  expect(connections).toMatchObject({ network: 'host', wayOut: ['IPv4'], machine: { bridge, subnet: '10.86.0.0/16' } });
  const second = await node.kubus('--node', 'second', 'up', '--network', 'host');
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining(`node ${node.name} is on this network`)]);
  const other = await node.up('--network', 'nat', '--manifests', manifests).outcome;
  expect(other.stderr).toContain('(--network is host): only a new node can have --network');

  // Without them no plugin takes back what it has done for the pod.
  await node.killAll('launcher', hostProcess, 'containerd');
  expect(await node.kubus('down')).toMatchObject({ code: 0 });
  expect(await stateOfMachine()).toEqual(before);
});

test('what others need stays, and what they have is not touched', async () => {
  const bridge = bridgeOf(node.name);
  await inside('ip', 'link', 'add', bridge, 'type', 'bridge');
  const refused = await up();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`the machine has an interface ${bridge}`),
  ]);
  expect([await inside('ip', 'link', 'show', bridge), existsSync(node.dir.root)]).toEqual([expect.any(String), false]);
  await inside('ip', 'link', 'delete', bridge);
  expect((await up('--publish', '8080:80')).stderr).toContain('--publish is for a node with a network of its own');

  expect(await up()).toMatchObject({ code: 0 });
  const rule = ['FORWARD', '-i', 'docker0', '-j', 'ACCEPT'];
  await inside('iptables', '-A', ...rule);
  const { code, stderr } = await node.kubus('down');
  expect([code, stderr]).toEqual([0, expect.stringContaining('net.ipv4.ip_forward stays 1')]);
  await inside('iptables', '-D', ...rule);
  await inside('sh', '-c', 'cd /proc/sys/net/ipv4 && echo 0 >ip_forward && echo 1 >conf/network/forwarding');
  expect(await stateOfMachine()).toEqual(before);
});
