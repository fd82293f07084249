// CSI drivers that fail, hang, crash and lose their state, and a manager that is restarted.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { listMounts } from '@kubus/filesystem';
import type { CsiDisturbance } from '@kubus/harness';
import { ObjectError } from '@kubus/object-socket';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CsiNode, DRIVER, leftOver, podOf } from './csi-node.ts';
import { podWith } from './scripted-node.ts';
import { everything } from './test-root.ts';

let csi: CsiNode;
beforeEach(() => {
  csi = CsiNode.make();
});
afterEach(() => csi.close());

describe('a CSI driver', () => {
  test('that is not registered is waited for, to mount and to remove', async () => {
    csi.describe();
    csi.claim('data');
    await csi.start();
    const disk = { name: 'disk', emptyDir: {} };
    csi.node.want(podWith('a', [disk, { name: 'data', persistentVolumeClaim: { claimName: 'data' } }]));
    const unknown = `driver name ${DRIVER} not found in the list of registered CSI drivers`;
    await csi.untilFailed('a', unknown);
    expect(csi.node.published('a')?.errors).toEqual([
      `MountVolume.MountDevice failed for volume "pv-data" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ${unknown}`,
    ]);
    const driver = await csi.driver({ topology: { zone: 'a' }, maxVolumes: 3 });
    await csi.node.untilReady('a');
    expect(csi.plugins.get(DRIVER)?.value).toEqual({
      ...{ driver: DRIVER, nodeId: `${DRIVER}-node`, maxVolumes: 3, topology: { zone: 'a' } },
    });
    await driver.stop();
    await csi.node.until(() => csi.plugins.get(DRIVER) === undefined);
    csi.node.worker('a', 'terminated');
    await csi.untilFailed('a', 'UnmountVolume.TearDown');
    expect(csi.node.published('a')?.errors).toEqual([
      `UnmountVolume.TearDown failed for volume "pv-data" : kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: ${unknown}`,
    ]);
    // The rest of the pod's volumes has been removed already.
    expect(existsSync(join(csi.root, 'pods/a/volumes/kubernetes.io~empty-dir'))).toBe(false);
    await driver.live();
    await csi.node.untilRemoved('a');
    expect(await csi.remains(driver)).toEqual([]);
  });

  test.each<[CsiDisturbance['method'], string, string[]]>([
    ['stage', 'MountVolume.MountDevice failed', ['stage handle-data']],
    [
      'publish',
      'MountVolume.SetUp failed',
      ['stage handle-data', 'publish handle-data', 'unpublish handle-data', 'unstage handle-data'],
    ],
  ])('that definitely failed to %s a volume has nothing to undo of that', async (method, beginning, story) => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('data');
    await driver.disturb({ method, what: 'fail', code: 'INVALID_ARGUMENT', times: 9 });
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.untilFailed('a', 'InvalidArgument');
    const text = `${beginning} for volume "pv-data" : rpc error: code = InvalidArgument desc = ${method} fails as the test wants`;
    expect(csi.node.published('a')?.errors).toEqual([text]);
    expect(csi.node.events).toEqual([`FailedMount ${text}`]);
    expect(existsSync(csi.path('a', 'pv-data'))).toBe(false);
    if (method === 'stage')
      expect(await leftOver(csi.root)).toEqual(['pods/a', 'pods/a/volumes', 'pods/a/volumes/kubernetes.io~csi']);
    await csi.end('a');
    expect(driver.story).toEqual(story);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test.each<[string, CsiDisturbance]>([
    ['reports that it is busy with staging', { method: 'stage', what: 'fail', code: 'ABORTED', done: true, times: 9 }],
    ['takes too long to publish', { method: 'publish', what: 'fail', code: 'DEADLINE_EXCEEDED', done: true, times: 9 }],
    ['crashes before it stages', { method: 'stage', what: 'die' }],
    ['crashes after it has staged', { method: 'stage', what: 'die', done: true }],
    ['crashes before it publishes', { method: 'publish', what: 'die' }],
    ['crashes after it has published', { method: 'publish', what: 'die', done: true }],
  ])('that %s is called to undo what it may have done', async (_, disturbance) => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('data');
    await driver.disturb(disturbance);
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.untilFailed('a', 'rpc error');
    csi.node.worker('a', 'terminated');
    if (disturbance.what === 'die') await driver.live();
    await csi.node.untilRemoved('a');
    expect(driver.story.slice(-2)).toEqual(['unpublish handle-data', 'unstage handle-data']);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test.each<[string, CsiDisturbance]>([
    ['unpublishes', { method: 'unpublish', what: 'die' }],
    ['has unpublished', { method: 'unpublish', what: 'die', done: true }],
    ['unstages', { method: 'unstage', what: 'die' }],
    ['has unstaged', { method: 'unstage', what: 'die', done: true }],
  ])('that crashes when it %s is called again when it is back', async (_, disturbance) => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('data');
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.node.untilReady('a');
    await driver.disturb(disturbance);
    csi.node.worker('a', 'terminated');
    await csi.untilFailed('a', 'code = Unavailable');
    await driver.live();
    await csi.node.untilRemoved('a');
    expect(await csi.remains(driver)).toEqual([]);
  });

  test('that no longer knows a volume has nothing to undo, and what it left is removed', async () => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('data');
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.node.untilReady('a');
    await driver.forget();
    await csi.end('a');
    expect(await csi.remains(driver)).toEqual([]);
    expect((await listMounts()).filter(({ target }) => target.startsWith(csi.root))).toEqual([]);
  });

  test('that hangs delays only pods with that volume', async () => {
    const driver = await csi.driver();
    csi.describe();
    for (const name of ['data', 'other']) csi.claim(name);
    await driver.disturb({ method: 'stage', what: 'hang' });
    await csi.start();
    const staged = driver.untilCalled('stage');
    csi.node.want(podOf('a', ['data']));
    await staged;
    csi.node.want(podOf('b', ['other']));
    await csi.node.untilReady('b');
    await csi.end('b');
    // The pod is no longer desired before its volume exists.
    csi.node.worker('a', 'terminated');
    expect(csi.node.published('a')).toBeUndefined();
    await driver.release();
    await csi.node.until(() => csi.node.removed.has('a'));
    expect(driver.story.at(-1)).toBe('unstage handle-data');
    expect(csi.node.manager.failing).toBe(0);
    expect(await csi.remains(driver)).toEqual([]);
  });
});

describe('values for a driver', () => {
  test('are waited for when they cannot be read at the moment, which is not a failure; existing volumes stay', async () => {
    const driver = await csi.driver({ capabilities: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] });
    csi.describe({ tokenRequests: [{ audience: 'vault' }], requiresRepublish: true });
    const names = ['stage', 'publish', 'expand'];
    for (const name of names) {
      const secret = { kind: 'Secret', namespace: 'csi', name } as const;
      csi.objects.put(`Secret/csi/${name}`, { ...secret, state: 'present', uid: name, version: '7', keys: [] });
    }
    const missing = new Map<string, ObjectError>();
    const value = <T>(of: string, what: T): Promise<T> => {
      const error = missing.get(of);
      return error === undefined ? Promise.resolve(what) : Promise.reject(error);
    };
    const [binaryValues, values] = [new Map<string, Buffer>(), new Map<string, Buffer>()];
    csi.values = {
      read: ({ name, version }) => value(name, { uid: name, version, type: 'Opaque', binaryValues, values }),
      token: () => value('token', { token: 't', expirationTimestamp: '', refreshTimestamp: '' }),
    };
    missing.set('stage', new ObjectError('ObjectsUnavailable', 'object-cache cannot be asked'));
    missing.set('publish', new ObjectError('ObjectChanged', 'Secret/csi/publish is not at version 7 any more'));
    missing.set('token', new ObjectError('ObjectsUnavailable', 'no answer for the token'));
    missing.set('expand', new ObjectError('ObjectsUnavailable', 'object-cache has died'));
    const secret = (name: string) => ({ namespace: 'csi', name });
    csi.claim('data', {
      ...{ nodeStageSecret: secret('stage'), nodePublishSecret: secret('publish'), nodeExpandSecret: secret('expand') },
      ...{ capacity: '2Mi', had: '1Mi' },
    });
    await csi.start();
    csi.node.want(podOf('a', ['data'], { serviceAccountName: 'robot' }));
    const story: string[] = [];
    for (const [name, call] of [
      ['stage', 'stage'],
      ['publish', undefined],
      ['token', 'publish'],
      ['expand', 'expand'],
    ] as const) {
      await csi.node.until(() => csi.node.published('a')?.awaits?.[0] === missing.get(name)?.message);
      expect(csi.node.published('a')).toMatchObject({ ready: false, volumes: {} });
      expect(driver.story).toEqual(story);
      if (call !== undefined) story.push(`${call} handle-data`);
      missing.delete(name);
      await csi.clock.advance(1_000);
    }
    await csi.node.untilReady('a');
    expect(driver.story.at(-1)).toBe('expand handle-data');
    missing.set('token', new ObjectError('ObjectsUnavailable', 'no answer for the token'));
    await csi.clock.advance(60_000);
    await csi.node.until(() => csi.node.published('a')?.awaits !== undefined);
    expect(csi.node.published('a')).toMatchObject({ ready: true, volumes: { data: {} } });
    expect(csi.node.published('a')?.errors).toBeUndefined();
    expect(csi.node.events.filter((event) => event.startsWith('Failed'))).toEqual([]);
    // A refusal is reported as a failure.
    missing.set('token', new ObjectError('Refused', 'no such audience'));
    await csi.clock.advance(1_000);
    await csi.untilFailed('a', 'no such audience');
  });
});

describe('after a restart', () => {
  test('existing volumes stay as they are, and are removed when their pod is no longer published', async () => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('data');
    csi.claim('disk', { volumeMode: 'Block' });
    const devices = [{ name: 'disk', devicePath: '/dev/disk' }];
    const containers = [{ name: 'main', volumeDevices: devices, volumeMounts: [{ name: 'data', mountPath: '/data' }] }];
    const pod = (uid: string) => podOf(uid, ['data', 'disk'], { containers });
    await csi.start();
    for (const uid of ['a', 'b']) csi.node.want(pod(uid));
    for (const uid of ['a', 'b']) await csi.node.untilReady(uid);
    writeFileSync(join(csi.path('a', 'pv-data'), 'file'), 'kept');
    const before = [csi.node.published('a'), await everything(csi.root)];
    await csi.node.kill();
    await csi.start();
    csi.node.worker('a', 'syncing');
    csi.node.complete();
    await csi.node.until(() => csi.node.completions === 1);
    expect([csi.node.published('a'), await everything(csi.root)]).toEqual(before);
    await csi.node.kill();

    csi.node.unwant('b');
    await csi.start();
    await csi.node.until(() => csi.node.completions === 2 && csi.node.manager.count === 1);
    expect(existsSync(join(csi.root, 'pods/b'))).toBe(false);
    expect(readFileSync(join(csi.path('a', 'pv-data'), 'file'), 'utf8')).toBe('kept');
    expect(driver.story.filter((call) => call.startsWith('unstage'))).toEqual([]);
    await csi.node.kill();
    csi.node.unwant('a');
    csi.node.worker('a', undefined);
    await csi.start();
    await csi.node.until(() => csi.node.completions === 3 && csi.node.manager.count === 0);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test('an ending pod keeps its volumes until its worker has finished', async () => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('data');
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.node.untilReady('a');
    const before = csi.node.published('a');
    await csi.node.kill();
    csi.node.want(podOf('a', ['data']), 'kill');
    csi.node.worker('a', 'terminating');
    csi.node.complete();
    await csi.start();
    await csi.node.until(() => csi.node.completions === 1);
    expect(csi.node.published('a')).toEqual(before);
    expect(driver.story).toHaveLength(2);
    await csi.end('a');
    expect(await csi.remains(driver)).toEqual([]);
  });

  test('an unreadable file stops the removal of its pod, and nothing else', async () => {
    const driver = await csi.driver();
    csi.describe();
    for (const name of ['data', 'other']) csi.claim(name);
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    csi.node.want(podOf('b', ['other']));
    for (const uid of ['a', 'b']) await csi.node.untilReady(uid);
    const file = join(csi.path('a', 'pv-data'), '../vol_data.json');
    const kept = join(csi.dir, 'kept');
    renameSync(file, kept);
    writeFileSync(file, '{');
    await csi.node.kill();
    for (const uid of ['a', 'b']) csi.node.unwant(uid);
    csi.node.complete();
    await csi.start();
    await csi.node.until(() => csi.node.manager.count === 1);
    await csi.untilFailed(
      'a',
      `kubernetes.io/csi: failed to parse volume data file [${csi.path('a', 'pv-data').replace('/mount', '')}/vol_data.json]`,
    );
    renameSync(kept, file);
    await csi.clock.advance(122_000);
    await csi.node.until(() => csi.node.manager.count === 0);
    expect(await csi.remains(driver)).toEqual([]);
  });
});
