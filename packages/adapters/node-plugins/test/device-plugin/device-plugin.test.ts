// Registration and calls, with a plugin in a separate process.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KnownDevice } from '@kubus/device-manager';
import { type DevicePluginSetup, TestDevicePlugin } from '@kubus/harness';
import { silentLogger } from '@kubus/ports';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DevicePlugin, DevicePluginRegistry, type RegisteredPlugin } from '../../src/index.ts';

const RESOURCE = 'example.com/device';

let dir: string;
let registry: DevicePluginRegistry | undefined;
let plugins: TestDevicePlugin[];
let asked: string[];
let registered: RegisteredPlugin[];

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-devices-')));
  [plugins, asked, registered] = [[], [], []];
});
afterEach(async () => {
  registry?.stop();
  registry = undefined;
  for (const plugin of plugins) await plugin.remove();
  rmSync(dir, { recursive: true });
});

const folder = () => join(dir, 'device-plugins');

async function listen(): Promise<void> {
  registry = await DevicePluginRegistry.start({
    folder: folder(),
    logger: silentLogger,
    asked: (resource) => asked.push(resource),
    registered: (plugin) => registered.push(plugin),
  });
}

async function start(options: Partial<DevicePluginSetup> = {}): Promise<TestDevicePlugin> {
  const devices = [
    { id: 'a', numaNodes: [1] },
    { id: 'b', healthy: false },
  ];
  const plugin = await TestDevicePlugin.start({ resource: RESOURCE, folder: folder(), devices, ...options });
  plugins.push(plugin);
  return plugin;
}

describe('registration', () => {
  test('accepts a plugin with its options, and again when the node’s socket is created again', async () => {
    await listen();
    const plugin = await start({ preStart: true, preferred: ['a'] });
    await plugin.untilRegistered();
    expect(registered).toMatchObject([{ resource: RESOURCE, options: { preStart: true, preference: true } }]);
    registry?.stop();
    expect(existsSync(join(folder(), 'kubelet.sock'))).toBe(false);
    await listen();
    await plugin.untilRegistered(2);
    expect(asked).toEqual([RESOURCE, RESOURCE]);
  });

  test('removes only the sockets of earlier runs', async () => {
    mkdirSync(folder());
    writeFileSync(join(folder(), 'state'), 'kept');
    const left = createServer().listen(join(folder(), 'left.sock'));
    await new Promise((resolve) => left.once('listening', resolve));
    await listen();
    expect(existsSync(join(folder(), 'left.sock'))).toBe(false);
    expect(existsSync(join(folder(), 'state'))).toBe(true);
    expect(statSync(join(folder(), 'kubelet.sock')).mode & 0o777).toBe(0o600);
    await new Promise((resolve) => left.close(resolve));
  });

  test.each<[string, Partial<DevicePluginSetup>]>([
    ['requested API version "v2" is not supported by kubelet. Supported version is ["v1beta1"]', { version: 'v2' }],
    ['the ResourceName "plain" is invalid', { resource: 'plain' }],
    ['the ResourceName "kubernetes.io/own" is invalid', { resource: 'kubernetes.io/own' }],
  ])('refuses: %s', async (error, options) => {
    await listen();
    const plugin = await start(options);
    await plugin.until(() => plugin.registrations.length > 0);
    expect(plugin.registrations).toEqual([error]);
    expect(registered).toEqual([]);
  });

  test('refuses a plugin that does not answer GetDevicePluginOptions', async () => {
    await listen();
    const plugin = await start();
    await plugin.untilRegistered();
    await plugin.disturb({ method: 'options', what: 'fail' });
    await plugin.register();
    await plugin.until(() => plugin.registrations.length === 2);
    expect(plugin.registrations[1]).toBe(
      'failed to get device plugin options: rpc error: code = Unknown desc = options fails as the test wants',
    );
    expect(registered).toHaveLength(1);
  });
});

describe('calls', () => {
  /** The lists that a plugin reports, and their end. */
  function follow(plugin: DevicePlugin) {
    const reports: (readonly KnownDevice[] | Error)[] = [];
    const waiting: (() => void)[] = [];
    const report = (word: readonly KnownDevice[] | Error) => {
      reports.push(word);
      for (const look of waiting.splice(0)) look();
    };
    const stop = plugin.watch({ devices: report, ended: report });
    const until = async (count: number) => {
      while (reports.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return reports[count - 1];
    };
    return { until, stop, reports };
  }

  async function running(options: Partial<DevicePluginSetup> = {}, limitMs?: number) {
    const plugin = await start(options);
    return { plugin, client: new DevicePlugin(join(folder(), 'example.com_device.sock'), limitMs) };
  }

  test('follow the devices until the plugin dies', async () => {
    const { plugin, client } = await running();
    const list = follow(client);
    const a = { id: 'a', healthy: true, numaNodes: [1] };
    expect(await list.until(1)).toEqual([a, { id: 'b', healthy: false, numaNodes: [] }]);
    await plugin.setDevices([{ id: 'b' }]);
    expect(await list.until(2)).toEqual([{ id: 'b', healthy: true, numaNodes: [] }]);
    await plugin.kill();
    expect(await list.until(3)).toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('report once that the plugin has ended its list, and nothing after they have stopped', async () => {
    const { plugin, client } = await running();
    const [ended, stopped] = [follow(client), follow(client)];
    await Promise.all([ended.until(1), stopped.until(1)]);
    stopped.stop();
    await plugin.endList();
    expect(await ended.until(2)).toMatchObject({ code: 'ended' });
    expect([ended.reports.length, stopped.reports.length]).toEqual([2, 1]);
  });

  test('pass the devices and return what containers get with them', async () => {
    const { plugin, client } = await running({ preStart: true, preferred: ['b'], mount: '/etc/hostname' });
    expect(await client.preferred({ available: ['a', 'b'], mustInclude: ['a'], size: 2 })).toEqual(['b']);
    expect(await client.allocate(['b', 'a'])).toEqual({
      envs: { TEST_DEVICES: 'a,b' },
      mounts: [{ containerPath: '/test-device/device', hostPath: '/etc/hostname', readOnly: true }],
      devices: ['b', 'a'].map((id) => ({ containerPath: `/dev/${id}`, hostPath: '/dev/null', permissions: 'rw' })),
      annotations: { 'test.kubus/devices': 'a,b' },
      cdiDevices: [],
    });
    await client.preStart(['a']);
    expect(await plugin.requests('preferred')).toEqual([
      { containerRequests: [{ availableDeviceIDs: ['a', 'b'], mustIncludeDeviceIDs: ['a'], allocationSize: 2 }] },
    ]);
    expect(await plugin.requests('preStart')).toEqual([{ devicesIds: ['a'] }]);
  });

  test('end at their time limit, and when the plugin dies', async () => {
    const { plugin, client } = await running({}, 300);
    await plugin.disturb({ method: 'allocate', what: 'hang' });
    await expect(client.allocate(['a'])).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await plugin.release();
    await plugin.disturb({ method: 'preStart', what: 'die' });
    await expect(client.preStart(['a'])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
