// Volumes that CSI drivers make: real drivers as processes, real mounts, the manager on a bus within the test.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CsiNode, DRIVER, podOf } from './csi-node.ts';
import { podWith } from './scripted-node.ts';
import { everything } from './test-root.ts';

let csi: CsiNode;
beforeEach(() => {
  csi = CsiNode.make();
});
afterEach(() => csi.close());

const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const plugins = () => join(csi.root, 'plugins/kubernetes.io/csi');
const stagedAt = (handle: string) => join(plugins(), DRIVER, sha(handle), 'globalmount');
const data = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
const inline = { name: 'inline', csi: { driver: DRIVER, fsType: 'ext4', volumeAttributes: { size: 'small' } } };

describe('a volume of a claim', () => {
  test('is staged once and published for each pod, with the reference’s paths and records', async () => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('data');
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.node.untilReady('a');
    csi.node.want(podOf('b', ['data']));
    await csi.node.untilReady('b');
    expect(driver.story).toEqual(['stage handle-data', 'publish handle-data', 'publish handle-data']);
    expect(csi.node.published('a')).toMatchObject({ volumes: { data: { hostPath: csi.path('a', 'pv-data') } } });
    writeFileSync(join(csi.path('a', 'pv-data'), 'file'), 'shared');
    expect(readFileSync(join(csi.path('b', 'pv-data'), 'file'), 'utf8')).toBe('shared');

    const folder = `plugins/kubernetes.io/csi/${DRIVER}/${sha('handle-data')}`;
    const ofPod = (uid: string) => `pods/${uid}/volumes/kubernetes.io~csi/pv-data`;
    expect(
      (await everything(csi.root)).filter((line) => !line.includes('plugins_registry') && !line.includes('/file')),
    ).toEqual([
      '750 0 plugins',
      '750 0 plugins/kubernetes.io',
      '750 0 plugins/kubernetes.io/csi',
      `750 0 plugins/kubernetes.io/csi/${DRIVER}`,
      `750 0 ${folder}`,
      expect.stringContaining(`${folder}/globalmount `),
      `644 0 ${folder}/vol_data.json`,
      '750 0 pods',
      ...['a', 'b'].flatMap((uid) => [
        `750 0 pods/${uid}`,
        `750 0 pods/${uid}/volumes`,
        `750 0 pods/${uid}/volumes/kubernetes.io~csi`,
        `750 0 ${ofPod(uid)}`,
        expect.stringContaining(`${ofPod(uid)}/mount `),
        `644 0 ${ofPod(uid)}/vol_data.json`,
      ]),
    ]);
    expect(data(join(csi.root, folder, 'vol_data.json'))).toEqual({ driverName: DRIVER, volumeHandle: 'handle-data' });
    expect(data(join(csi.root, ofPod('a'), 'vol_data.json'))).toEqual({
      attachmentID: `csi-${sha(`handle-data${DRIVER}node0`)}`,
      driverName: DRIVER,
      nodeName: 'node0',
      specVolID: 'pv-data',
      volumeHandle: 'handle-data',
      volumeLifecycleMode: 'Persistent',
    });

    await csi.end('a');
    expect(driver.story.slice(3)).toEqual(['unpublish handle-data']);
    expect(readFileSync(join(csi.path('b', 'pv-data'), 'file'), 'utf8')).toBe('shared');
    await csi.end('b');
    expect(driver.story.slice(4)).toEqual(['unpublish handle-data', 'unstage handle-data']);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test('is published with its attributes, the pod’s information and account, and the values of Secrets', async () => {
    const driver = await csi.driver();
    csi.describe({ podInfoOnMount: true, tokenRequests: [{ audience: 'vault', expirationSeconds: 900 }] });
    const secret = (name: string) => ({ namespace: 'csi', name });
    for (const name of ['stage', 'publish']) {
      csi.objects.put(`Secret/csi/${name}`, {
        ...{ kind: 'Secret', ...secret(name), state: 'present', uid: name, version: '7', keys: ['key'] },
      });
    }
    csi.values = {
      read: ({ name, version: at }) =>
        Promise.resolve({
          uid: name,
          version: at,
          type: 'Opaque',
          binaryValues: new Map(),
          values: new Map([['key', Buffer.from(`of ${name}`)]]),
        }),
      token: (account, question) =>
        Promise.resolve({
          token: `${account.name} ${question.audiences?.join() ?? ''} ${question.pod.uid}`,
          expirationTimestamp: '2030-01-01T01:00:00Z',
          refreshTimestamp: '2030-01-01T00:30:00Z',
        }),
    };
    csi.claim('data', { nodeStageSecret: secret('stage'), nodePublishSecret: secret('publish') });
    await csi.start();
    csi.node.want(podOf('a', ['data'], { serviceAccountName: 'robot' }));
    await csi.node.untilReady('a');
    const [staging, publishing] = driver.calls.filter(({ method }) => ['stage', 'publish'].includes(method));
    const volumeCapability = {
      accessMode: { mode: 'SINGLE_NODE_WRITER' },
      mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' },
    };
    expect(staging?.request).toEqual({
      volumeId: 'handle-data',
      publishContext: {},
      stagingTargetPath: stagedAt('handle-data'),
      volumeCapability,
      secrets: { key: 'of stage' },
      volumeContext: { kind: 'fast' },
    });
    expect(publishing?.request).toEqual({
      volumeId: 'handle-data',
      publishContext: {},
      stagingTargetPath: stagedAt('handle-data'),
      targetPath: csi.path('a', 'pv-data'),
      volumeCapability,
      readonly: false,
      secrets: { key: 'of publish' },
      volumeContext: {
        kind: 'fast',
        'csi.storage.k8s.io/pod.name': 'a',
        'csi.storage.k8s.io/pod.namespace': 'default',
        'csi.storage.k8s.io/pod.uid': 'a',
        'csi.storage.k8s.io/serviceAccount.name': 'robot',
        'csi.storage.k8s.io/ephemeral': 'false',
        'csi.storage.k8s.io/serviceAccount.tokens':
          '{"vault":{"token":"robot vault a","expirationTimestamp":"2030-01-01T01:00:00Z"}}',
      },
    });
  });

  test('waits for its attachment, which it reports as in use, and is staged with the attachment’s metadata', async () => {
    const driver = await csi.driver();
    csi.describe({ attachRequired: true });
    csi.claim('data');
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    const unique = `kubernetes.io/csi/${DRIVER}^handle-data`;
    csi.says({ volumesInUse: [], volumesAttached: [] });
    await csi.node.until(() => csi.node.published('a')?.awaits !== undefined);
    expect(csi.inUse.get('node0')).toBeUndefined();
    csi.node.complete();
    await csi.node.until(() => csi.inUse.get('node0')?.value.volumes.length === 1);
    expect(csi.inUse.get('node0')?.value).toEqual({ volumes: [unique] });
    csi.says({ volumesInUse: [unique], volumesAttached: [unique] });
    csi.attachments.put('attachment', {
      ...{
        name: 'attachment',
        driver: DRIVER,
        volumeHandle: 'handle-data',
        attached: true,
        metadata: { device: 'sdb' },
      },
    });
    await csi.node.untilReady('a');
    expect(driver.calls.find(({ method }) => method === 'stage')?.request).toMatchObject({
      publishContext: { device: 'sdb' },
    });
    // The pod is no longer published, but its volume cannot be removed.
    await driver.disturb({ method: 'unpublish', what: 'hang' });
    const unpublished = driver.untilCalled('unpublish');
    csi.node.worker('a', 'terminated');
    csi.node.unwant('a');
    await unpublished;
    expect(csi.inUse.get('node0')?.value).toEqual({ volumes: [unique] });
    await driver.release();
    await csi.node.until(() => csi.inUse.get('node0')?.value.volumes.length === 0);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test('without staging is only published', async () => {
    const driver = await csi.driver({ capabilities: [] });
    csi.describe();
    csi.claim('data', { readOnly: true });
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.node.untilReady('a');
    await csi.end('a');
    expect(driver.story).toEqual(['publish handle-data', 'unpublish handle-data']);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test.each([
    ['by the node', [], '', 1234, '2775'],
    ['by a driver that can change it', ['VOLUME_MOUNT_GROUP'], '1234', 1234, '755'],
  ] as const)('belongs to the pod’s group, changed %s', async (_, more, mountGroup, gid, mode) => {
    const driver = await csi.driver({ capabilities: ['STAGE_UNSTAGE_VOLUME', ...more] });
    csi.describe();
    csi.claim('data');
    await csi.start();
    csi.node.want(podOf('a', ['data'], { securityContext: { fsGroup: 1234 } }));
    await csi.node.untilReady('a');
    expect(driver.calls.find(({ method }) => method === 'publish')?.request).toMatchObject({
      volumeCapability: { mount: { volumeMountGroup: mountGroup } },
    });
    const stats = statSync(csi.path('a', 'pv-data'));
    expect([stats.gid, (stats.mode & 0o7777).toString(8)]).toEqual([gid, mode]);
  });

  test('as a block device is pinned for the pod, and linked in its folder', async () => {
    const driver = await csi.driver();
    csi.describe();
    csi.claim('disk', { volumeMode: 'Block' });
    const devices = [{ name: 'disk', devicePath: '/dev/disk' }];
    const pod = (uid: string) => podOf(uid, ['disk'], { containers: [{ name: 'main', volumeDevices: devices }] });
    await csi.start();
    csi.node.want(pod('a'));
    await csi.node.untilReady('a');
    csi.node.want(pod('b'));
    await csi.node.untilReady('b');
    const link = join(csi.root, 'pods/a/volumeDevices/kubernetes.io~csi/pv-disk');
    expect(csi.node.published('a')?.volumes).toEqual({ disk: { hostPath: link, device: true } });
    const base = join(plugins(), 'volumeDevices');
    expect(readlinkSync(link)).toBe(join(base, 'publish/pv-disk/a'));
    expect(statSync(link).isBlockDevice()).toBe(true);
    expect(statSync(join(base, 'pv-disk/dev/a')).rdev).toBe(statSync(link).rdev);
    expect(data(join(base, 'pv-disk/data/vol_data.json'))).toEqual({
      attachmentID: `csi-${sha(`handle-disk${DRIVER}node0`)}`,
      driverName: DRIVER,
      nodeName: 'node0',
      specVolID: 'pv-disk',
      volumeHandle: 'handle-disk',
    });
    expect(driver.calls.find(({ method }) => method === 'publish')?.request).toMatchObject({
      stagingTargetPath: join(base, 'staging/pv-disk'),
      volumeCapability: { block: {}, accessMode: { mode: 'SINGLE_NODE_WRITER' } },
    });
    await csi.end('a');
    expect(statSync(join(base, 'pv-disk/dev/b')).isBlockDevice()).toBe(true);
    await csi.end('b');
    expect(driver.story.slice(-2)).toEqual(['unpublish handle-disk', 'unstage handle-disk']);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test('is expanded once, and its claim and its user are informed; until then no pod starts with less', async () => {
    const driver = await csi.driver({ capabilities: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] });
    csi.describe();
    csi.claim('data', { capacity: '2Mi', had: '1Mi' });
    await driver.disturb({ method: 'expand', what: 'fail', code: 'INTERNAL' });
    await csi.start();
    csi.node.want(podOf('a', ['data']));
    await csi.untilFailed('a', 'expanding');
    expect(csi.node.published('a')).toMatchObject({ ready: false, volumes: {} });
    const failure =
      'Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = expand fails as the test wants';
    expect(csi.node.events).toEqual([
      `FailedMount MountVolume.Setup failed while expanding volume for volume "pv-data" : ${failure}`,
    ]);
    await csi.clock.advance(500);
    await csi.node.untilReady('a');
    const expansion = { namespace: 'default', name: 'data', claimUid: 'uid-data', capacity: '2Mi' };
    await csi.node.until(() => csi.expansions.get('default/data') !== undefined);
    expect(csi.expansions.get('default/data')?.value).toEqual(expansion);
    expect(csi.node.events.slice(1)).toEqual([
      'FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv-data" node0',
    ]);
    expect(driver.calls.filter(({ method }) => method === 'expand').at(-1)?.request).toMatchObject({
      volumePath: csi.path('a', 'pv-data'),
      stagingTargetPath: stagedAt('handle-data'),
      capacityRange: { requiredBytes: '2097152' },
    });
    csi.node.want(podOf('b', ['data']));
    await csi.node.untilReady('b');
    csi.claim('data', { capacity: '2Mi' });
    await csi.node.until(() => csi.expansions.get('default/data') === undefined);
    expect(driver.calls.filter(({ method }) => method === 'expand')).toHaveLength(2);

    // While it is in use, a failure is reported and everything stays.
    await driver.disturb({ method: 'expand', what: 'fail', code: 'OUT_OF_RANGE' });
    csi.claim('data', { capacity: '3Mi', had: '2Mi' });
    await csi.node.until(() => csi.node.events.some((event) => event.startsWith('VolumeResizeFailed')));
    expect(csi.node.events.at(-1)).toContain(
      'VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv-data" : Expander.NodeExpand failed',
    );
    expect(csi.node.published('a')).toMatchObject({ ready: true, volumes: { data: {} } });
    // An expansion that the driver refuses while the volume is in use is not requested again.
    csi.claim('data', { capacity: '2Mi' });
    await csi.node.until(
      () => csi.node.published('a')?.errors === undefined && csi.node.published('b')?.errors === undefined,
    );
    await driver.disturb({ method: 'expand', what: 'fail', code: 'FAILED_PRECONDITION' });
    const asked = driver.untilCalled('expand');
    csi.claim('data', { capacity: '4Mi', had: '2Mi' });
    await asked;
    await csi.end('a');
    await csi.end('b');
    expect(driver.calls.filter(({ method }) => method === 'expand').length).toBeLessThanOrEqual(6);
    expect(await csi.remains(driver)).toEqual([]);
  });
});

describe('an inline volume', () => {
  test('is created and removed with its pod', async () => {
    const driver = await csi.driver();
    csi.describe({ podInfoOnMount: true });
    await csi.start();
    csi.node.want(podWith('a', [inline]));
    await csi.node.untilReady('a');
    const volumeId = `csi-${sha('ainline')}`;
    expect(driver.calls.find(({ method }) => method === 'publish')?.request).toMatchObject({
      ...{ volumeId, stagingTargetPath: '', targetPath: csi.path('a', 'inline') },
      volumeContext: { size: 'small', 'csi.storage.k8s.io/ephemeral': 'true' },
    });
    expect(data(join(csi.path('a', 'inline'), '../vol_data.json'))).toMatchObject({
      ...{ volumeHandle: volumeId, specVolID: 'inline', volumeLifecycleMode: 'Ephemeral' },
    });
    await csi.end('a');
    expect(driver.story).toEqual([`publish ${volumeId}`, `unpublish ${volumeId}`]);
    expect(await csi.remains(driver)).toEqual([]);
  });

  test.each([
    [['Persistent'], '(only supports ["Persistent"])'],
    [undefined, '(no CSIDriver object)'],
  ])('is refused by a driver with the modes %j', async (lifecycleModes, why) => {
    await csi.driver();
    csi.describe(lifecycleModes === undefined ? { name: 'other' } : { lifecycleModes });
    await csi.start();
    csi.node.want(podWith('a', [inline]));
    const problem = `volume mode "Ephemeral" not supported by driver ${DRIVER} ${why}`;
    const text = `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: ${problem}`;
    await csi.untilFailed('a', text);
    expect(csi.node.published('a')?.errors).toEqual([`MountVolume.SetUp failed for volume "inline" : ${text}`]);
  });

  test('is published again periodically where the driver requires it, and stays after a failure', async () => {
    const driver = await csi.driver();
    csi.describe({ requiresRepublish: true });
    await csi.start();
    csi.node.want(podWith('a', [inline]));
    await csi.node.untilReady('a');
    writeFileSync(join(csi.path('a', 'inline'), 'file'), 'kept');
    await driver.disturb({ method: 'publish', what: 'fail', code: 'INVALID_ARGUMENT' });
    const again = driver.untilCalled('publish');
    await csi.clock.advance(60_000);
    await again;
    await csi.untilFailed('a', 'InvalidArgument');
    expect(csi.node.published('a')).toMatchObject({ ready: true, volumes: { inline: {} } });
    expect(readFileSync(join(csi.path('a', 'inline'), 'file'), 'utf8')).toBe('kept');
    await csi.clock.advance(500);
    await csi.node.until(() => csi.node.published('a')?.errors === undefined);
  });
});
