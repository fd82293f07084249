// What the runtime and the node pass to the real plugins that declare the capability, and what the plugins set up in
// the kernel.
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
// Also after a failed test, so that it does not affect the others.
afterEach(async () => {
  for (const [id, sandbox] of attached) await node.call('DEL', id, sandbox.path);
  attached.clear();
});

/** Gives the node one network, and waits until the bridge uses it. */
async function configure(name: string, ...plugins: object[]): Promise<void> {
  const from = bridge.said.length;
  node.configure('10-pods.conflist', { cniVersion: '1.0.0', name, plugins });
  await bridge.waitFor(({ network }) => network?.network === name || undefined, from);
}

/** host-local without ranges of its own: the node provides them. */
function ipam(): object {
  return { type: 'host-local', dataDir: join(node.folder, 'ipam') };
}

function usePodCidrs(...podCidrs: string[]): Promise<readonly string[]> {
  return bridge.ask({ command: 'podCidrs', podCidrs }, (said) => said.podCidrs);
}

/** The addresses of a pod that is attached with these capability arguments from the runtime. */
async function attach(id: string, sandbox: Namespace, runtimeConfig: object = {}): Promise<string[]> {
  attached.set(id, sandbox);
  const { json } = await node.call('ADD', id, sandbox.path, { runtimeConfig });
  expect(json.msg).toBeUndefined();
  return (json.ips ?? []).map(({ address }) => address);
}

/**
 * The output of a program in the pod that listens on port 80, called from the node under an address and port. The server
 * runs it for the connection: one that passes on its own input may see the caller's end first, and end without an answer.
 */
async function outputOf(sandbox: Namespace, ...address: readonly [string, string]): Promise<string> {
  const listen = ['busybox', 'nc', '-l', '-p', '80', '-e', 'echo', 'from the pod'];
  const argv = [`--net=${sandbox.path}`, '--', ...listen];
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

test('a pod gets an address of each podCIDR and the requested MAC, bandwidth, firewall rules and host port', async () => {
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
    // As containerd derives them from kubernetes.io/ingress-bandwidth and egress-bandwidth.
    bandwidth: { ingressRate: 8_000_000, ingressBurst: 8_000_000, egressRate: 4_000_000, egressBurst: 4_000_000 },
    portMappings: [{ hostPort: 18080, containerPort: 80, protocol: 'tcp', hostIP: '' }],
  });
  expect(addresses).toEqual(['10.90.0.2/24', 'fd90::2/64']);
  expect(sandbox.run('ip', 'link', 'show', 'eth0')).toContain('02:00:00:00:00:07');
  expect(shapers()).toEqual(['rate 4Mbit', 'rate 8Mbit']);
  expect(node.host.run('iptables-save', '-t', 'filter')).toContain('-A CNI-FORWARD -s 10.90.0.2/32 -j ACCEPT');
  expect(await outputOf(sandbox, '127.0.0.1', '18080')).toBe('from the pod');

  expect(await node.call('DEL', 'c1', sandbox.path)).toMatchObject({ exitCode: 0 });
  expect({ shapers: shapers(), leases: node.leases(), rules: node.podRules() }).toEqual({
    shapers: [],
    leases: {},
    rules: [],
  });
  expect(node.host.run('iptables-save', '-t', 'filter')).not.toContain('10.90.0.2');
});

/** The rates to which interfaces of the node are limited. */
function shapers(): string[] {
  return [...node.host.run('tc', 'qdisc').matchAll(/tbf .*(rate \w+)/g)].map(([, rate = '']) => rate).sort();
}

test('a failed CHECK is reported and leaves the pod’s network working (Debian’s portmap looks for IPv4 rules in IPv6)', async () => {
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
  expect(await outputOf(sandbox, '127.0.0.1', '18080')).toBe('from the pod');
});

test('a changed podCIDR applies to new pods; running pods keep their address until DEL releases it', async () => {
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
