import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type ContainerSettings, containerConfig } from '../../src/containers/container-config.ts';
import { containerDir, linksOf } from '../../src/containers/container-dir.ts';
import { KUBUS_USER, containerServices, userOf } from '../../src/containers/container-services.ts';
import { readContainerDir, readInstallSettings } from '../../src/containers/environment.ts';
import { nodeFlags, nodeProgramEnv, sharedNodeFlags } from '../../src/processes/node-program.ts';
import { testFolder } from '../support.ts';

const base = { base: '/lib', runBase: '/run' };
const settings: ContainerSettings = {
  natsUrl: 'nats://127.0.0.1:4222',
  logLevel: 'info',
  observatory: false,
  httpPort: 10_300,
};
const withOverlay = (patch: unknown) =>
  containerConfig(containerDir('node0', 'node0', base), { ...settings, overlay: { file: '/overlay.yaml', patch } });

describe('the folders of a node of containers', () => {
  test('are named by KUBUS_FOLDER if it is set, and are found by the name of the node', () => {
    const dir = containerDir('worker-7.example', 'node', base);
    expect(dir).toMatchObject({ node: 'worker-7.example', root: '/lib/node', run: '/run/node' });
    expect(dir.control('pod-workers-1')).toBe('/run/node/control/pod-workers/pod-workers-1.sock');
    expect(linksOf(dir)).toContainEqual(['/lib/worker-7.example', '/lib/node']);
    expect(linksOf(containerDir('node', 'node', base)).map(([path]) => path)).toEqual([
      '/run/node/api.sock',
      '/run/node/observatory.sock',
    ]);
  });

  test('leave room for the longest socket path', () => {
    const longest = 'n'.repeat(32);
    const dir = containerDir(longest, longest, { base: '/var/lib/kubus', runBase: '/run/kubus' });
    const group = `services-${'g'.repeat(20)}`;
    for (const path of [
      `${dir.control('volume-manager-0')}.new`,
      `${dir.control(group)}.new`,
      `${dir.socket('observatory')}.new/s`,
    ]) {
      expect(path.length).toBeLessThan(108);
    }
    expect(() => containerDir('a', `${longest}n`, base)).toThrow(expect.objectContaining({ code: 'FolderTooLong' }));
    expect(() => containerDir('../a', 'a', base)).toThrow(expect.objectContaining({ code: 'InvalidNodeName' }));
  });
});

describe('the configuration of the services of a node in containers', () => {
  test('gives each instance a TCP port of its own', () => {
    const { httpPorts, instances } = withOverlay({ instances: { 'pod-workers': 3, prober: 2 } });
    expect(instances).toEqual({ 'pod-workers': 3, prober: 2 });
    expect(httpPorts).toMatchObject({ 'config-sources-0': 10_300, 'pod-workers-0': 10_302, 'pod-workers-2': 10_342 });
    const ports = Object.values(httpPorts);
    expect(new Set(ports).size).toBe(ports.length);
    expect(ports).toHaveLength(containerServices.length - 1 + 3);
  });

  test('gives each container with several services one more, and the user root if any of them is', () => {
    const placement = { status: ['prober', 'sync-loop'], runtime: ['cri-bridge', 'config-sources'] } as const;
    const config = withOverlay({ placement, instances: { prober: 2 } });
    expect(config.httpPorts).toMatchObject({ 'services-runtime': 10_312, 'services-status': 10_313 });
    const ports = Object.values(config.httpPorts);
    expect(new Set(ports).size).toBe(ports.length);
    const users = (['prober', 'sync-loop', 'config-sources', 'cri-bridge'] as const).map((name) =>
      userOf(name, config.placement),
    );
    expect(users).toEqual([KUBUS_USER, KUBUS_USER, 0, 0]);
    expect(userOf('prober', 'hosted')).toBe(0);
    expect(() => withOverlay({ placement: { status: ['prober'] } })).toThrow('a group has at least two services');
  });

  test('is changed by an overlay, field by field', () => {
    const config = withOverlay({ pods: { max: 5 }, runtime: { handler: null, socket: '/run/containerd.sock' } });
    expect(config.pods).toMatchObject({ max: 5, root: '/lib/node0/pods' });
    expect(config.runtime).toMatchObject({ socket: '/run/containerd.sock', cgroupRoot: '/kubus-node0' });
    expect(config.runtime.handler).toBeUndefined();
    expect(config.network.namespacesOf).toBe(1);
  });

  test('keeps pods from the loopback of the machine, unless an overlay leaves that to another agent', () => {
    expect(withOverlay({}).nodeObject.iptablesUtilChains).toBe(true);
    expect(withOverlay({ nodeObject: { iptablesUtilChains: false } }).nodeObject.iptablesUtilChains).toBe(false);
  });

  test('is refused with the overlay and its invalid fields', () => {
    expect(() => withOverlay({ pods: { maxPods: 5 }, logLevel: 'loud' })).toThrow(
      /^\/overlay\.yaml: (?=.*logLevel: )(?=.*pods: .*maxPods)/,
    );
  });
});

test('only services that change the machine run as root', () => {
  expect(containerServices.filter((name) => userOf(name) === 0).sort()).toEqual([
    ...['cni-bridge', 'cri-bridge', 'node-agent', 'node-api', 'pod-workers', 'volume-manager'],
  ]);
  expect(userOf('sync-loop')).toBe(KUBUS_USER);
});

describe('the environment of a container', () => {
  test('has a default for each variable; an empty variable counts as unset', async () => {
    const { dir, settings: read } = await readInstallSettings({ KUBUS_NATS_URL: '', KUBUS_HTTP_PORT: '' });
    expect(dir.node).toBe('node0');
    expect(read).toEqual({ ...settings, nodeIps: [], overlay: undefined, sharedRuntime: false, besideKubelet: true });
  });

  test('may name a NATS server with TLS', async () => {
    const { settings: read } = await readInstallSettings({ KUBUS_NATS_URL: 'tls://nats.example:4222' });
    expect(read.natsUrl).toBe('tls://nats.example:4222');
  });

  test('may name the addresses of the node, which an overlay may change', async () => {
    const { settings: read } = await readInstallSettings({ KUBUS_NODE_IP: '10.0.0.7,fd00::7' });
    const dir = containerDir('node0', 'node0', base);
    expect(containerConfig(dir, read).nodeIps).toEqual(['10.0.0.7', 'fd00::7']);
    const overlay = { file: '/overlay.yaml', patch: { nodeIps: [] } };
    expect(containerConfig(dir, { ...read, overlay }).nodeIps).toEqual([]);
  });

  test.each([
    [{ KUBUS_NODE_IP: '10.0.0' }, 'BadEnvironment', 'KUBUS_NODE_IP.0 must be an IP address'],
    [{ KUBUS_HTTP_PORT: 'http' }, 'BadEnvironment', 'KUBUS_HTTP_PORT'],
    [{ KUBUS_OBSERVATORY: 'yes' }, 'BadEnvironment', 'KUBUS_OBSERVATORY must be true or false'],
    [{ KUBUS_NATS_URL: 'http://x' }, 'BadNatsUrl', 'http://x'],
    [{ KUBUS_OVERLAY: '/nowhere.yaml' }, 'BadOverlay', '/nowhere.yaml'],
  ])('refuses %j', async (environment, code, named) => {
    await expect(readInstallSettings(environment)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(named) as unknown,
    });
  });

  test('refuses an overlay that is not YAML', async () => {
    const file = join(await testFolder(), 'node.yaml');
    await writeFile(file, 'pods: [');
    const read = readInstallSettings({ KUBUS_OVERLAY: file });
    await expect(read).rejects.toMatchObject({ code: 'BadOverlay', context: { file } });
  });

  test('sets the folders', () => {
    expect(readContainerDir({ KUBUS_NODE: 'worker', KUBUS_FOLDER: 'node' })).toMatchObject({
      node: 'worker',
      root: '/var/lib/kubus/node',
    });
  });
});

test('services run with the same Node.js options and environment as under a launcher that starts all processes', async () => {
  const entryPoint = await readFile(join(import.meta.dirname, '../../container/kubus'), 'utf8');
  const flags = /^flags='(.*)'$/m.exec(entryPoint)?.[1]?.split(' ') ?? [];
  expect(flags).toEqual(nodeFlags);
  const more = /^shared_flags='(.*)'$/m.exec(entryPoint)?.[1]?.split(' ') ?? [];
  expect([...flags, ...more]).toEqual(sharedNodeFlags);
  const env = /export (MALLOC.*?) #/
    .exec(entryPoint)?.[1]
    ?.split(' ')
    .map((pair) => pair.split('='));
  expect(Object.fromEntries(env ?? [])).toEqual(nodeProgramEnv);
});
