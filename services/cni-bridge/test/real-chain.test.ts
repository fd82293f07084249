// The real plugins through the compiled shim, in network namespaces that belong to the test.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BridgeProcess, type Namespace, TestNode } from './test-node.ts';

let node: TestNode;
let bridge: BridgeProcess;

beforeAll(async () => {
  node = await TestNode.make();
  node.configure('10-pods.conflist', {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      node.bridgePlugin(),
      { type: 'tuning', sysctl: { 'net.ipv4.conf.eth0.arp_filter': '1' } },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  });
  bridge = await node.startBridge();
});
afterAll(() => node.close());

let sandbox: Namespace;
let id: string;
let count = 0;
beforeEach(async () => {
  sandbox = await node.makeSandbox();
  count += 1;
  id = `c${count}`;
});

// Also after a failed test, so that it does not affect the others.
afterEach(() => node.call('DEL', id, sandbox.path));

interface Link {
  readonly address?: string;
  readonly addr_info: readonly { readonly local?: string; readonly scope?: string }[];
}

function addressesIn(namespace: Namespace, ifname: string): string[] {
  const links = JSON.parse(namespace.run('ip', '-json', 'address', 'show', 'dev', ifname)) as Link[];
  return links.flatMap((link) => link.addr_info.flatMap(({ local, scope }) => (scope === 'link' ? [] : [local ?? ''])));
}

/** Everything that an attachment leaves on the node. */
function left() {
  return { leases: Object.values(node.leases()), journal: node.journal(), ports: node.ports(), rules: node.podRules() };
}
const nothing = { leases: [], journal: [], ports: [], rules: [] };

describe('a pod’s attachment', () => {
  const portMappings = [{ hostPort: 18080, containerPort: 80, protocol: 'tcp', hostIP: '' }];

  test('gets a network on ADD and leaves nothing after DEL', async () => {
    const from = bridge.said.length;
    const added = await node.call('ADD', id, sandbox.path, { runtimeConfig: { portMappings, dns: { servers: [] } } });
    expect(added.exitCode).toBe(0);
    const address = added.json.ips?.[0]?.address.replace('/16', '') ?? '';
    expect(addressesIn(sandbox, 'eth0')).toEqual([address]);
    expect(node.leases()).toEqual({ [address]: id });
    expect(sandbox.run('cat', '/proc/sys/net/ipv4/conf/eth0/arp_filter').trim()).toBe('1');
    expect(node.podRules().join('\n')).toContain(`--to-destination ${address}:80`);
    expect(sandbox.run('busybox', 'ping', '-c', '1', '10.88.0.1')).toContain(' 0% packet loss');
    expect((await bridge.state()).attachments).toMatchObject([
      {
        containerId: id,
        ifname: 'eth0',
        phase: 'added',
        pod: { namespace: 'default', name: `pod-${id}`, uid: `uid-${id}` },
        netns: sandbox.path,
        network: 'pods',
        plugins: ['bridge', 'tuning', 'portmap'],
        ips: [address],
        result: { ips: [{ address: `${address}/16`, gateway: '10.88.0.1' }] },
      },
    ]);

    expect(await node.call('DEL', id, sandbox.path)).toMatchObject({ exitCode: 0, stdout: '' });
    expect(left()).toEqual(nothing);

    const runs = bridge.said.slice(from).flatMap(({ plugin }) => plugin ?? []);
    expect(runs.map(({ command, type, ips }) => [command, type, ...ips].join(' '))).toEqual([
      `ADD bridge ${address}`,
      `ADD tuning ${address}`,
      `ADD portmap ${address}`,
      'DEL portmap',
      'DEL tuning',
      'DEL bridge',
    ]);
    expect(JSON.stringify(bridge.said.slice(from))).not.toContain('18080');
  });

  test('lets packets for the loopback in only while a pod has a host port', async () => {
    const setting = () => node.host.run('cat', '/proc/sys/net/ipv4/conf/cni0/route_localnet').trim();
    const other = await node.makeSandbox();
    const mapping = (hostPort: number) => ({
      runtimeConfig: { portMappings: [{ hostPort, containerPort: 80, protocol: 'tcp', hostIP: '' }] },
    });
    const without = await node.makeSandbox();
    await node.call('ADD', id, sandbox.path, mapping(18081));
    await node.call('ADD', `${id}-other`, other.path, mapping(18082));
    await node.call('ADD', `${id}-without`, without.path);
    expect(setting()).toBe('1');
    await node.call('DEL', id, sandbox.path);
    expect(setting()).toBe('1');
    await node.call('DEL', `${id}-other`, other.path);
    expect(setting()).toBe('0');
    await node.call('DEL', `${id}-without`, without.path);
    expect(left()).toEqual(nothing);
  });

  test('keeps one address over two ADDs, reported in the version that each call requests', async () => {
    const [first, second] = await Promise.all([
      node.call('ADD', id, sandbox.path),
      node.call('ADD', id, sandbox.path, { cniVersion: '0.2.0' }),
    ]);
    const third = await node.call('ADD', id, sandbox.path, { cniVersion: '0.4.0' });
    const [address] = addressesIn(sandbox, 'eth0');
    expect(first.json.ips?.[0]?.address).toBe(`${address ?? ''}/16`);
    expect(second.json).toMatchObject({
      cniVersion: '0.2.0',
      ip4: { ip: `${address ?? ''}/16`, gateway: '10.88.0.1' },
    });
    expect(third.json).toMatchObject({ cniVersion: '0.4.0', ips: [{ version: '4', address: `${address ?? ''}/16` }] });
    expect(Object.keys(node.leases())).toEqual([address]);
  });

  test('passes CHECK, and a problem is reported', async () => {
    await node.call('ADD', id, sandbox.path);
    expect(await node.call('CHECK', id, sandbox.path)).toMatchObject({ exitCode: 0, stdout: '' });
    sandbox.run('ip', 'address', 'flush', 'dev', 'eth0');
    const { json } = await node.call('CHECK', id, sandbox.path);
    expect(json.msg).toContain('plugin bridge failed (CHECK): ');
  });

  test('is removed when its namespace no longer exists, also by a second DEL', async () => {
    await node.call('ADD', id, sandbox.path, { runtimeConfig: { portMappings } });
    await sandbox.end();
    expect(await node.call('DEL', id, '')).toMatchObject({ exitCode: 0 });
    // The bridge plugin reads its masquerade rules from the namespace, so it leaves those.
    const rules = node.podRules().filter((rule) => rule.includes('DNAT'));
    expect({ ...left(), rules }).toEqual(nothing);
    node.host.run('iptables', '-t', 'nat', '-F');
    node.host.run('iptables', '-t', 'nat', '-X');
    expect(await node.call('DEL', id, '')).toMatchObject({ exitCode: 0 });
    expect(await node.call('DEL', id, sandbox.path)).toMatchObject({ exitCode: 0 });
  });

  test('is undone from the last plugin backwards when the last plugin fails', async () => {
    node.script('tuning', `[ $CNI_COMMAND = DEL ] || { echo '{"cniVersion":"1.0.0","code":101,"msg":"no"}'; exit 1; }`);
    const failed = await node.call('ADD', id, sandbox.path, { runtimeConfig: { portMappings } });
    node.script('tuning', 'exec /usr/lib/cni/tuning');
    expect(failed).toMatchObject({ exitCode: 1, json: { cniVersion: '1.0.0', code: 101 } });
    expect(failed.json.msg).toBe('plugin tuning failed (ADD): no');
    expect(left()).toEqual(nothing);
    expect(await node.call('ADD', id, sandbox.path)).toMatchObject({ exitCode: 0 });
  });

  test('is removed with the configuration that it was added with', async () => {
    await node.call('ADD', id, sandbox.path);
    node.configure('00-other.conflist', { cniVersion: '1.0.0', name: 'other', plugins: [{ type: 'missing' }] });
    await bridge.waitFor(({ network }) => network?.network === 'other' || undefined);
    expect(await node.call('DEL', id, sandbox.path)).toMatchObject({ exitCode: 0 });
    expect(left()).toEqual(nothing);
    const from = bridge.said.length;
    node.unconfigure('00-other.conflist');
    await bridge.waitFor(({ network }) => network?.network === 'pods' || undefined, from);
  });
});

test('loopback, the runtime’s own network, is run with the configuration in the call', async () => {
  const stdin = { cniVersion: '0.3.1', name: 'cni-loopback', type: 'loopback' };
  sandbox.run('ip', 'link', 'set', 'lo', 'down');
  const added = await node.call('ADD', id, sandbox.path, { ifname: 'lo', name: 'loopback', stdin });
  expect(added).toMatchObject({ exitCode: 0, json: { cniVersion: '0.3.1', ips: [{ address: '127.0.0.1/8' }, {}] } });
  expect(addressesIn(sandbox, 'lo')).toContain('127.0.0.1');
  expect((await bridge.state()).attachments).toEqual([]);
  expect(await node.call('DEL', id, sandbox.path, { ifname: 'lo', name: 'loopback', stdin })).toMatchObject({
    exitCode: 0,
  });
  expect(sandbox.run('ip', 'link', 'show', 'lo')).toContain('state DOWN');
});

test('thirty concurrent pods get thirty addresses, a bounded number at a time', async () => {
  const sandboxes = await Promise.all(Array.from({ length: 30 }, () => node.makeSandbox()));
  const from = bridge.said.length;
  const answers = await Promise.all(sandboxes.map(({ path }, at) => node.call('ADD', `burst${at}`, path)));
  const addresses = answers.map(({ json }) => json.ips?.[0]?.address.replace('/16', '') ?? '');
  expect(new Set(addresses).size).toBe(30);
  expect(Object.keys(node.leases()).sort()).toEqual(addresses.sort());
  const runs = bridge.said.slice(from).flatMap(({ plugin }) => plugin ?? []);
  const runningAt = (time: number) =>
    runs.filter(({ startedAt, durationMs }) => startedAt <= time && time < startedAt + durationMs).length;
  const most = Math.max(...runs.map(({ startedAt }) => runningAt(startedAt)));
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(8);

  // The runtime lists none of them any more, but they are younger than the time a sandbox may take to be listed.
  expect(await bridge.ask({ command: 'collect', live: [] }, ({ collected }) => collected)).toEqual({
    removed: 0,
    failed: 0,
  });
  await bridge.kill();
  bridge = await node.startBridge({ limits: { collectAfterMs: -1_000_000 } });
  const live = ['burst3', 'burst7'];
  expect(await bridge.ask({ command: 'collect', live }, ({ collected }) => collected)).toEqual({
    removed: 28,
    failed: 0,
  });
  expect(Object.values(node.leases()).sort()).toEqual(live);
  expect(await bridge.ask({ command: 'collect', live: [] }, ({ collected }) => collected)).toEqual({
    removed: 2,
    failed: 0,
  });
  expect(left()).toEqual(nothing);
});
