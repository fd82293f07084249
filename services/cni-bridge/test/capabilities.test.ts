// What the runtime and the node pass to the real plugins that declare it, and what these make of it in the kernel.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type BridgeProcess, type Namespace, TestNode } from './test-node.ts';

let node: TestNode;
let bridge: BridgeProcess;

beforeAll(async () => {
  node = await TestNode.make();
  bridge = await node.startBridge();
});
afterAll(() => node.close());

const attached = new Map<string, Namespace>();
// Also when a test has failed half way, so that the others tell only of themselves.
afterEach(async () => {
  for (const [id, sandbox] of attached) await node.call('DEL', id, sandbox.path);
  attached.clear();
});

/** Gives the node one network, and waits until the bridge has it. */
async function configure(name: string, ...plugins: object[]): Promise<void> {
  const from = bridge.said.length;
  node.configure('10-pods.conflist', { cniVersion: '1.0.0', name, plugins });
  await bridge.hear(({ network }) => network?.network === name || undefined, from);
}

/** host-local without ranges of its own: they come from the node. */
function ipam(): object {
  return { type: 'host-local', dataDir: join(node.folder, 'ipam') };
}

function usePodCidrs(...podCidrs: string[]): Promise<readonly string[]> {
  return bridge.ask({ command: 'podCidrs', podCidrs }, (said) => said.podCidrs);
}

/** The addresses of a pod, asked for with what the runtime passes in. */
async function attach(id: string, sandbox: Namespace, runtimeConfig: object = {}): Promise<string[]> {
  attached.set(id, sandbox);
  const { json } = await node.call('ADD', id, sandbox.path, { runtimeConfig });
  expect(json.msg).toBeUndefined();
  return (json.ips ?? []).map(({ address }) => address);
}

/** What a program in the pod that listens on port 80 says when it is called from the node under an address and port. */
async function hearFrom(sandbox: Namespace, ...address: readonly [string, string]): Promise<string> {
  const argv = [`--net=${sandbox.path}`, '--', 'sh', '-c', 'echo from the pod | exec busybox nc -l -p 80'];
  const server = spawn('nsenter', argv, { stdio: 'ignore' });
  const ended = once(server, 'exit');
  try {
    const call = `busybox nc -w 2 ${address.join(' ')}`;
    return node.host.run('sh', '-c', `for i in $(seq 100); do ${call} && exit; sleep 0.05; done`).trim();
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

test('a pod has the address of each podCIDR, the MAC, the bandwidth, the firewall rules and the host port asked for', async () => {
  await usePodCidrs('10.90.0.0/24', 'fd90::/64');
  await configure(
    'pods',
    { ...node.bridgePlugin(), ipMasq: false, capabilities: { ipRanges: true, mac: true }, ipam: ipam() },
    { type: 'bandwidth', capabilities: { bandwidth: true } },
    { type: 'firewall', backend: 'iptables' },
    { type: 'portmap', capabilities: { portMappings: true } },
  );
  const sandbox = await node.makeSandbox();
  const addresses = await attach('c1', sandbox, {
    mac: '02:00:00:00:00:07',
    // As containerd makes them of kubernetes.io/ingress-bandwidth and egress-bandwidth.
    bandwidth: { ingressRate: 8_000_000, ingressBurst: 8_000_000, egressRate: 4_000_000, egressBurst: 4_000_000 },
    portMappings: [{ hostPort: 18080, containerPort: 80, protocol: 'tcp', hostIP: '' }],
  });
  expect(addresses).toEqual(['10.90.0.2/24', 'fd90::2/64']);
  expect(sandbox.run('ip', 'link', 'show', 'eth0')).toContain('02:00:00:00:00:07');
  expect(shapers()).toEqual(['rate 4Mbit', 'rate 8Mbit']);
  expect(node.host.run('iptables-save', '-t', 'filter')).toContain('-A CNI-FORWARD -s 10.90.0.2/32 -j ACCEPT');
  expect(await hearFrom(sandbox, '127.0.0.1', '18080')).toBe('from the pod');

  expect(await node.call('DEL', 'c1', sandbox.path)).toMatchObject({ exitCode: 0 });
  expect({ shapers: shapers(), leases: node.leases(), rules: node.podRules() }).toEqual({
    shapers: [],
    leases: {},
    rules: [],
  });
  expect(node.host.run('iptables-save', '-t', 'filter')).not.toContain('10.90.0.2');
});

/** The rates to which interfaces of the node are held. */
function shapers(): string[] {
  return [...node.host.run('tc', 'qdisc').matchAll(/tbf .*(rate \w+)/g)].map(([, rate = '']) => rate).sort();
}

test('CHECK of Debian’s portmap looks for the rules of an IPv4 address in IPv6 too: told, and the pod goes on', async () => {
  await configure(
    'checked',
    { type: 'ptp', capabilities: { ipRanges: true }, ipam: ipam() },
    { type: 'portmap', capabilities: { portMappings: true } },
  );
  await usePodCidrs('10.93.0.0/24');
  const sandbox = await node.makeSandbox();
  await attach('c1', sandbox, { portMappings: [{ hostPort: 18080, containerPort: 80, protocol: 'tcp', hostIP: '' }] });
  const { checked, failed } = await bridge.ask({ command: 'check' }, ({ checks }) => checks);
  expect(checked).toBe(1);
  expect(failed).toEqual([expect.stringContaining('plugin portmap failed (CHECK): could not check ipv6 dnat')]);
  expect(await hearFrom(sandbox, '127.0.0.1', '18080')).toBe('from the pod');
});

test('another podCIDR is for new pods; those that run keep their address and give it back', async () => {
  await usePodCidrs('10.91.0.0/24');
  await configure('routed', { type: 'ptp', capabilities: { ipRanges: true }, ipam: ipam() });
  const [old, young] = [await node.makeSandbox(), await node.makeSandbox()];
  expect(await attach('old', old)).toEqual(['10.91.0.2/24']);
  await usePodCidrs('10.92.0.0/24');
  expect(await attach('young', young)).toEqual(['10.92.0.2/24']);
  expect(node.leases('routed')).toEqual({ '10.91.0.2': 'old', '10.92.0.2': 'young' });
  expect(await bridge.ask({ command: 'check' }, ({ checks }) => checks)).toEqual({ checked: 2, failed: [] });
  expect(node.host.run('busybox', 'ping', '-c', '1', '10.91.0.2')).toContain(' 0% packet loss');
  await node.call('DEL', 'old', old.path);
  await node.call('DEL', 'young', young.path);
  expect(node.leases('routed')).toEqual({});
});
