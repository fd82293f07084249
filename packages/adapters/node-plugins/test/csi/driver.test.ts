// Registration and calls, with a driver in a separate process.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mountsBelow, unmount } from '@kubus/filesystem';
import { type CsiDriverSetup, TestCsiDriver } from '@kubus/harness';
import { PluginWatcher } from '../../src/registration/plugin-watcher.ts';
import { silentLogger } from '@kubus/ports';
import { systemClock as clock } from '@kubus/service-kit';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PluginCallError, CsiNode, type RegisteredDriver, csiPlugins } from '../../src/index.ts';

let dir: string;
let drivers: TestCsiDriver[];
let watcher: PluginWatcher<RegisteredDriver> | undefined;
/** The watcher's reports, and waiters for more. */
let reports: string[];
let waiting: (() => void)[];
let nodes: Map<string, CsiNode>;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-csi-')));
  drivers = [];
  reports = [];
  waiting = [];
  nodes = new Map();
});
afterEach(async () => {
  watcher?.stop();
  watcher = undefined;
  for (const driver of drivers) await driver.kill();
  for (const { target } of await mountsBelow(dir)) await unmount(target);
  for (const driver of drivers) await driver.remove();
  rmSync(dir, { recursive: true });
});

const registry = () => join(dir, 'registry');

async function start(name: string, options: Partial<CsiDriverSetup> = {}): Promise<TestCsiDriver> {
  const folder = join(dir, `${name}-${drivers.length}`);
  const driver = await TestCsiDriver.start({ name, folder, registry: registry(), ...options });
  drivers.push(driver);
  return driver;
}

async function watchPlugins(): Promise<void> {
  const report = (word: string) => {
    reports.push(word);
    for (const look of waiting.splice(0)) look();
  };
  watcher = await PluginWatcher.start({
    of: csiPlugins,
    folder: registry(),
    clock,
    logger: silentLogger,
    retryWait: () => 50,
    registered: ({ name, nodeId, maxVolumes, topology, node }) => {
      nodes.set(name, node);
      report(`+ ${name} ${nodeId} ${maxVolumes ?? '-'} ${JSON.stringify(topology)}`);
    },
    unregistered: ({ name }) => report(`- ${name}`),
  });
}

async function untilTold(count: number): Promise<void> {
  while (reports.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
}

describe('registration', () => {
  test('registers an existing driver and a later one, and deregisters one whose socket is removed', async () => {
    await start('first.example', { topology: { zone: 'a' }, maxVolumes: 7 });
    await watchPlugins();
    expect(reports).toEqual(['+ first.example first.example-node 7 {"zone":"a"}']);
    const second = await start('second.example');
    await untilTold(2);
    await second.until(() => second.registrations.length === 1);
    expect(second.registrations).toEqual([{ registered: true, error: '' }]);
    await second.stop();
    await untilTold(3);
    expect(reports.slice(1)).toEqual(['+ second.example second.example-node - {}', '- second.example']);
    await second.live();
    await untilTold(4);
  });

  test('keeps a driver that has only died, and registers it again when its socket is replaced', async () => {
    const driver = await start('first.example');
    await watchPlugins();
    await driver.kill();
    const node = nodes.get('first.example');
    await expect(node?.info()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await driver.live();
    await untilTold(3);
    expect(reports).toEqual([reports[0], '- first.example', reports[0]]);
    await expect(node?.info()).resolves.toMatchObject({ nodeId: 'first.example-node' });
  });

  test('ignores other files, hidden files, and plugins of another kind', async () => {
    const device = await start('device.example', { type: 'DevicePlugin' });
    writeFileSync(join(registry(), 'file.sock'), '');
    const hidden = await start('hidden.example');
    renameSync(join(registry(), 'hidden.example-reg.sock'), join(registry(), '.hidden'));
    await watchPlugins();
    expect(reports).toEqual([]);
    expect([device.registrations, hidden.registrations]).toEqual([[], []]);
  });

  test.each<[string, Partial<CsiDriverSetup>, string]>([
    ['no version', { versions: [] }, 'Plugin returned an empty list for supported versions'],
    ['no supported version', { versions: ['2.1.0'] }, 'None of the versions specified ["2.1.0"] are supported.'],
  ])('tells a driver with %s why it is not registered', async (_, options, why) => {
    const driver = await start('odd.example', options);
    await watchPlugins();
    await driver.until(() => driver.registrations.length > 0);
    expect(reports).toEqual([]);
    expect(driver.registrations).toEqual([
      {
        registered: false,
        error:
          `RegisterPlugin error -- plugin validation failed with err: validation failed for CSI Driver odd.example at endpoint ` +
          `${join(driver.setup.folder, 'csi.sock')}: kubernetes.io/csi: ValidatePlugin for CSI driver "odd.example" failed. ${why}`,
      },
    ]);
  });

  test('tells a driver that fails NodeGetInfo, and tries again', async () => {
    const driver = await start('late.example');
    await driver.disturb({ method: 'info', what: 'fail', code: 'FAILED_PRECONDITION' });
    await watchPlugins();
    await driver.until(() => driver.registrations.length > 0);
    expect(driver.registrations.slice(0, 1)).toEqual([
      {
        registered: false,
        error:
          'RegisterPlugin error -- plugin registration failed with err: rpc error: code = FailedPrecondition desc = info fails as the test wants',
      },
    ]);
    await untilTold(1);
    expect(reports).toEqual(['+ late.example late.example-node - {}']);
  });

  test('refuses a second driver of the same name, unless its version is higher', async () => {
    const versions = { versions: ['1.1.0'] };
    await start('one.example', versions);
    await watchPlugins();
    const other = (name: string) => ({ registry: join(dir, name) });
    const moveIn = (name: string) =>
      renameSync(join(dir, name, 'one.example-reg.sock'), join(registry(), `${name}.sock`));
    const same = await start('one.example', { ...versions, ...other('same') });
    moveIn('same');
    await same.until(() => same.registrations.length > 0);
    expect(same.registrations).toMatchObject([{ registered: false, error: expect.stringContaining('"1.1.0"') }]);
    const higher = await start('one.example', { versions: ['1.2.0'], ...other('higher') });
    moveIn('higher');
    await higher.until(() => higher.registrations.length > 0);
    expect(higher.registrations).toEqual([{ registered: true, error: '' }]);
    expect(reports.map((word) => word.slice(0, 1))).toEqual(['+', '-', '+']);
  });
});

describe('calls', () => {
  const use = { block: false, fsType: 'ext4', mountFlags: ['noatime'], accessMode: 'SINGLE_NODE_WRITER' } as const;
  const volume = { volumeId: 'v1', publishContext: { at: 'b' }, secrets: { key: 'value' }, volumeContext: { a: 'c' } };

  async function node(options: Partial<CsiDriverSetup> = {}, limitMs?: number): Promise<[TestCsiDriver, CsiNode]> {
    const driver = await start('one.example', options);
    const socket = join(driver.setup.folder, 'csi.sock');
    return [driver, new CsiNode(socket, limitMs)];
  }

  test('describe a volume by the capabilities of the driver', async () => {
    const [driver, csi] = await node({ capabilities: ['STAGE_UNSTAGE_VOLUME', 'SINGLE_NODE_MULTI_WRITER'] });
    const [stagingPath, path] = [join(dir, 'staged'), join(dir, 'published')];
    mkdirSync(stagingPath);
    await csi.stage({ ...volume, stagingPath, use: { ...use, group: 7 } });
    await csi.publish({ ...volume, stagingPath, path, use, readOnly: true });
    expect(await csi.stats('v1', path)).toEqual({
      bytes: { total: '1000', used: '300', available: '700' },
      inodes: { total: '100', used: '3', available: '97' },
    });
    await csi.unpublish('v1', path);
    await csi.unstage('v1', stagingPath);
    const capability = (volumeMountGroup: string) => ({
      accessMode: { mode: 'SINGLE_NODE_MULTI_WRITER' },
      mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup },
    });
    const about = driver.calls.filter(({ method }) => method === 'stage' || method === 'publish');
    expect(about.map(({ request }) => request)).toEqual([
      { ...volume, stagingTargetPath: stagingPath, volumeCapability: capability('7') },
      { ...volume, stagingTargetPath: stagingPath, targetPath: path, readonly: true, volumeCapability: capability('') },
    ]);
    // The capabilities are requested once.
    expect(driver.calls.filter(({ method }) => method === 'capabilities')).toHaveLength(1);
    expect(await driver.books()).toMatchObject({ staged: {}, published: {} });
  });

  test.each([
    ['SINGLE_NODE_WRITER', 'SINGLE_NODE_WRITER'],
    ['SINGLE_NODE_SINGLE_WRITER', 'SINGLE_NODE_WRITER'],
    ['SINGLE_NODE_MULTI_WRITER', 'SINGLE_NODE_WRITER'],
    ['MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  ] as const)('pass %s as %s to a driver without the newer access modes', async (accessMode, said) => {
    const [driver, csi] = await node({ capabilities: [] });
    const path = join(dir, 'published');
    await csi.publish({ ...volume, stagingPath: '/not/passed', path, use: { ...use, accessMode }, readOnly: false });
    expect(driver.calls.at(-1)).toMatchObject({
      request: { stagingTargetPath: '', volumeCapability: { accessMode: { mode: said } } },
    });
    await csi.unpublish('v1', path);
    expect(readdirSync(dir)).not.toContain('published');
  });

  test.each([
    ['INTERNAL', 'Internal', false],
    ['INVALID_ARGUMENT', 'InvalidArgument', false],
    ['NOT_FOUND', 'NotFound', false],
    ['ABORTED', 'Aborted', true],
    ['CANCELLED', 'Canceled', true],
    ['RESOURCE_EXHAUSTED', 'ResourceExhausted', true],
    ['UNAVAILABLE', 'Unavailable', true],
    ['DEADLINE_EXCEEDED', 'DeadlineExceeded', true],
  ])('fail with %s', async (code, name, isUndecided) => {
    const [driver, csi] = await node();
    await driver.disturb({ method: 'unpublish', what: 'fail', code });
    const error: unknown = await csi.unpublish('v1', '/nowhere').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PluginCallError);
    expect(error).toMatchObject({
      code,
      isUndecided,
      message: `rpc error: code = ${name} desc = unpublish fails as the test wants`,
    });
  });

  test('end at their time limit, and when the driver dies', async () => {
    const [driver, csi] = await node({}, 300);
    await driver.disturb({ method: 'unpublish', what: 'hang' });
    await expect(csi.unpublish('v1', '/nowhere')).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const [dying, other] = await node();
    await dying.disturb({ method: 'unpublish', what: 'die' });
    await expect(other.unpublish('v1', '/nowhere')).rejects.toMatchObject({ code: 'UNAVAILABLE', isUndecided: true });
  });

  test('publish and expand a block device', async () => {
    const [driver, csi] = await node();
    const [stagingPath, path] = [join(dir, 'staged'), join(dir, 'device')];
    const block = { ...use, block: true };
    await csi.stage({ ...volume, stagingPath, use: block });
    await csi.publish({ ...volume, stagingPath, path, use: block, readOnly: false });
    expect((await mountsBelow(path)).map(({ target }) => target)).toEqual([path]);
    await csi.expand({ volumeId: 'v1', path, stagingPath, bytes: '2097152', use: block, secrets: {} });
    expect(driver.calls.at(-1)).toMatchObject({
      method: 'expand',
      request: { capacityRange: { requiredBytes: '2097152' }, volumePath: path, stagingTargetPath: stagingPath },
    });
    await csi.unpublish('v1', path);
    await csi.unstage('v1', stagingPath);
    expect(await driver.books()).toMatchObject({ devices: {} });
  });
});
