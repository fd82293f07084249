// The manager on a bus within the test, with the machine's real folders and mounts.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mount, unmount } from '@kubus/filesystem';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type VolumeHost, createVolumeHost } from '../src/index.ts';
import { ScriptedNode, podWith } from './scripted-node.ts';
import { everything, makeRoot, removeRoot } from './test-root.ts';

let dir: string;
let root: string;
let clock: ManualClock;
let node: ScriptedNode;
let records: MemoryRecords;
let host: VolumeHost;

beforeEach(() => {
  dir = makeRoot();
  root = join(dir, 'node');
  mkdirSync(root);
  clock = new ManualClock();
  node = new ScriptedNode(clock);
  records = new MemoryRecords();
  host = createVolumeHost({ root, clock, logger: silentLogger });
});
afterEach(async () => {
  await node.kill();
  await removeRoot(dir);
});

/** Resolves in the turn of the event loop in which `condition` becomes true. */
async function polled(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}
const start = () => node.start({ root, host, records });
const volume = (uid: string, name: string) => join(root, 'pods', uid, 'volumes/kubernetes.io~empty-dir', name);
const disk = { name: 'disk', emptyDir: {} };
const disk2 = { name: 'other', emptyDir: {} };
const memory = { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } };

describe('a pod', () => {
  test('gets its volumes, and leaves nothing when its worker has stopped it', async () => {
    await start();
    node.complete();
    const host = { name: 'host', hostPath: { path: join(dir, 'made/here'), type: 'DirectoryOrCreate' } };
    const pod = podWith('a', [disk, memory, host], { securityContext: { fsGroup: 1234 } });
    node.want(pod);
    await node.untilReady('a');
    expect(node.published('a')).toEqual({
      ref: { namespace: 'default', name: 'a', uid: 'a' },
      ready: true,
      volumes: {
        disk: { hostPath: volume('a', 'disk'), relabel: true },
        memory: { hostPath: volume('a', 'memory'), relabel: true },
        host: { hostPath: join(dir, 'made/here') },
      },
    });
    expect(await everything(dir)).toEqual([
      '755 0 made',
      '755 0 made/here',
      '755 0 node',
      '750 0 node/pods',
      '750 0 node/pods/a',
      '750 0 node/pods/a/volumes',
      '750 0 node/pods/a/volumes/kubernetes.io~empty-dir',
      '2777 1234 node/pods/a/volumes/kubernetes.io~empty-dir/disk',
      '3777 1234 node/pods/a/volumes/kubernetes.io~empty-dir/memory tmpfs',
    ]);
    expect(() => writeFileSync(join(volume('a', 'memory'), 'big'), Buffer.alloc(2 ** 20 + 1))).toThrow('ENOSPC');
    writeFileSync(join(volume('a', 'disk'), 'file'), '');
    writeFileSync(join(dir, 'made/here/file'), 'kept');

    node.worker('a', 'syncing');
    node.want(pod, 'kill');
    node.worker('a', 'terminating');
    await node.until(() => node.published('a')?.ready === true);
    expect(existsSync(join(volume('a', 'disk'), 'file'))).toBe(true);
    node.worker('a', 'terminated');
    await node.untilRemoved('a');
    expect(await everything(root)).toEqual(['750 0 pods']);
    expect(readFileSync(join(dir, 'made/here/file'), 'utf8')).toBe('kept');
    expect(await records.load()).toEqual(new Map());

    node.worker('a', 'finished');
    node.unwant('a');
    node.worker('a', undefined);
    await settled();
    expect(node.manager.count).toBe(0);
  });

  test('without volumes has neither a fact nor a folder, and one of the same UID starts with empty volumes', async () => {
    await start();
    node.want(podWith('none', []));
    node.want(podWith('a', [disk]));
    await node.untilReady('a');
    expect(node.said.filter(({ subject }) => subject.endsWith('volume.fact.mounts.none'))).toEqual([]);
    expect(existsSync(join(root, 'pods/none'))).toBe(false);

    writeFileSync(join(volume('a', 'disk'), 'file'), '');
    node.worker('a', 'finished');
    await node.untilRemoved('a');
    node.worker('a', undefined);
    await node.untilReady('a');
    expect(existsSync(join(volume('a', 'disk'), 'file'))).toBe(false);
  });

  test('that ends gets no more volumes, and existing ones of others stay', async () => {
    await start();
    node.complete();
    node.want(podWith('other', [disk]));
    node.want(podWith('a', [disk]), 'kill');
    node.worker('a', 'terminating');
    await node.untilReady('other');
    await node.until(() => node.published('a') !== undefined);
    expect(node.published('a')).toMatchObject({ ready: false, volumes: {} });
    node.worker('a', 'terminated');
    await node.untilRemoved('a');
    expect(existsSync(volume('other', 'disk'))).toBe(true);
    expect(existsSync(volume('a', 'disk'))).toBe(false);
  });

  test('with a missing volume has the reason published, is retried after growing delays, and does not delay others', async () => {
    await start();
    const path = join(dir, 'later');
    node.want(
      podWith('a', [
        disk,
        { name: 'file', hostPath: { path, type: 'File' } },
        { name: 's', gitRepo: { repository: 'x' } },
      ]),
    );
    node.want(podWith('b', [disk]));
    await node.untilReady('b');
    await node.until(() => node.published('a') !== undefined);
    const refused = 'MountVolume.SetUp failed for volume "s" : this version of Kubus does not mount gitRepo volumes';
    expect(node.published('a')).toMatchObject({
      ready: false,
      volumes: { disk: { hostPath: volume('a', 'disk') } },
      errors: [
        `MountVolume.SetUp failed for volume "file" : hostPath type check failed: ${path} is not a file`,
        refused,
      ],
    });
    // Each volume has a delay of its own, and each attempt is reported.
    await node.until(() => node.events.length === 2 && clock.waits.length === 2);
    expect(clock.waits).toEqual([500, 500]);
    await clock.advance(500);
    await node.until(() => node.events.length === 4 && clock.waits.length === 2);
    expect(clock.waits).toEqual([1000, 1000]);
    expect(new Set(node.events)).toEqual(new Set(node.published('a')?.errors?.map((error) => `FailedMount ${error}`)));

    writeFileSync(path, '');
    node.want(podWith('a', [disk, { name: 'file', hostPath: { path, type: 'File' } }]));
    await node.untilReady('a');
    expect(node.published('a')?.errors).toBeUndefined();
    expect(clock.waits).toEqual([]);
  });

  test('with a name that leads out of its folder gets no volumes', async () => {
    await start();
    node.want(podWith('../../../x', [disk]));
    await node.until(() => node.published('../../../x')?.errors !== undefined);
    expect(node.published('../../../x')?.errors).toEqual(['"../../../x" cannot be the name of a folder']);
    expect(await everything(root)).toEqual([]);
  });

  test('with a foreign mount in its volume is removed without the mounted content; while in use it stays', async () => {
    await start();
    const other = join(dir, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'file'), 'kept');
    node.want(podWith('a', [disk, memory]));
    await node.untilReady('a');
    const inside = join(volume('a', 'disk'), 'inside');
    mkdirSync(inside);
    await mount({ type: 'none', source: other, target: inside, options: ['bind'] });
    // As long as a process is in it, it cannot be unmounted.
    const busy = join(volume('a', 'memory'), 'busy');
    mkdirSync(busy);
    const cwd = process.cwd();
    process.chdir(busy);
    try {
      node.worker('a', 'terminated');
      await node.until(() => node.published('a')?.errors !== undefined);
      expect(node.published('a')?.errors).toEqual([expect.stringContaining('target is busy')]);
      expect(node.published('a')).toMatchObject({ ready: false, volumes: { disk: {}, memory: {} } });
    } finally {
      process.chdir(cwd);
    }
    await clock.advance(500);
    await node.untilRemoved('a');
    expect(await everything(root)).toEqual(['750 0 pods']);
    expect(readFileSync(join(other, 'file'), 'utf8')).toBe('kept');
  });

  test('that writes more into a volume than its limit is reported as exceeding it, permanently', async () => {
    let looks = 0;
    const machine = host;
    host = {
      ...machine,
      usage: async (folder) => {
        const bytes = await machine.usage(folder);
        looks += 1;
        return bytes;
      },
    };
    await start();
    const limited = { name: 'disk', emptyDir: { sizeLimit: '1Mi' } };
    node.want(podWith('a', [limited, disk2]));
    await node.untilReady('a');
    const file = join(volume('a', 'disk'), 'file');
    // Blocks count and not lengths, and the content of other volumes does not.
    writeFileSync(file, Buffer.alloc(900 * 1024));
    truncateSync(file, 2 ** 30);
    writeFileSync(join(volume('a', 'other'), 'file'), Buffer.alloc(2 ** 21));
    await clock.advance(10_000);
    await polled(() => looks === 1);
    await settled();
    expect(node.published('a')?.excess).toBeUndefined();
    writeFileSync(join(volume('a', 'disk'), 'more'), Buffer.alloc(200 * 1024));
    await clock.advance(10_000);
    await node.until(() => node.published('a')?.excess !== undefined);
    const excess = { message: 'Usage of EmptyDir volume "disk" exceeds the limit "1Mi". ' };
    expect(node.published('a')).toMatchObject({ ready: true, excess });
    await clock.advance(60_000);
    expect(looks).toBe(2);
    rmSync(join(volume('a', 'disk'), 'more'));
    node.worker('a', 'terminating');
    await node.until(() => node.published('a')?.ready === true);
    expect(node.published('a')?.excess).toEqual(excess);
    node.worker('a', 'terminated');
    await node.untilRemoved('a');
  });

  test('is not measured where size limits are not enforced', async () => {
    const measured: string[] = [];
    const counting: VolumeHost = { ...host, usage: (folder) => (measured.push(folder.path), host.usage(folder)) };
    await node.start({ root, host: counting, records, sizeLimits: false });
    node.want(podWith('a', [{ name: 'disk', emptyDir: { sizeLimit: '1' } }]));
    await node.untilReady('a');
    writeFileSync(join(volume('a', 'disk'), 'file'), Buffer.alloc(2 ** 16));
    await clock.advance(20_000);
    await settled();
    expect(measured).toEqual([]);
  });

  test('with a hanging volume delays neither other pods nor its own volumes, and is removed when the volume returns', async () => {
    let release = () => {};
    const hanging = new Promise<void>((resolve) => (release = resolve));
    const machine = host;
    const hangs = (uid: string) => join(dir, `hangs-${uid}`);
    host = {
      ...machine,
      make: async (step, report) => {
        if (step.kind === 'host') await hanging;
        return machine.make(step, report);
      },
    };
    await start();
    node.complete();
    const slow = (uid: string) => ({ name: 'slow', hostPath: { path: hangs(uid), type: 'DirectoryOrCreate' } });
    for (const uid of ['a', 'b']) node.want(podWith(uid, [disk, slow(uid)]));
    node.want(podWith('other', [disk, memory]));
    await node.untilReady('other');
    await polled(() => existsSync(volume('a', 'disk')) && existsSync(volume('b', 'disk')));
    await clock.advance(2_000);
    await node.until(() => node.published('a')?.volumes['disk'] !== undefined);
    expect(node.published('a')).toMatchObject({ ready: false, volumes: { disk: {} } });
    expect(node.manager.ready).toBe(true);
    for (const uid of ['a', 'other']) node.worker(uid, 'terminated');
    await node.untilRemoved('other');
    expect(existsSync(volume('a', 'disk'))).toBe(true);
    release();
    await node.untilRemoved('a');
    await node.untilReady('b');
    expect(existsSync(join(root, 'pods/a'))).toBe(false);
  });

  test('gets no volumes as long as its record cannot be written', async () => {
    await start();
    records.failure = new Error('no space');
    node.want(podWith('a', [disk]));
    await node.until(() => node.published('a')?.errors !== undefined);
    expect(node.published('a')?.errors).toEqual(['no space']);
    expect(await everything(root)).toEqual([]);
    records.failure = undefined;
    await clock.advance(500);
    await node.untilReady('a');
  });
});

describe('after a restart', () => {
  test('existing volumes are found, and nothing is made or lost', async () => {
    await start();
    const pod = podWith('a', [disk, memory]);
    node.want(pod);
    await node.untilReady('a');
    const before = node.published('a');
    for (const name of ['disk', 'memory']) writeFileSync(join(volume('a', name), 'file'), name);
    const was = await everything(root);
    await node.kill();
    node.worker('a', 'syncing');
    node.complete();
    await start();
    await node.until(() => node.completions === 1);
    expect(node.published('a')).toEqual(before);
    expect(await everything(root)).toEqual(was);
    expect(node.manager.ready).toBe(true);
  });

  test('volumes of unpublished pods are removed, but not before all pods are known', async () => {
    await start();
    for (const uid of ['gone', 'terminated', 'wanted']) node.want(podWith(uid, [disk, memory]));
    for (const uid of ['gone', 'terminated', 'wanted']) await node.untilReady(uid);
    // Of one, the record was lost too.
    const lost = volume('lost', 'disk');
    mkdirSync(lost, { recursive: true });
    await node.kill();
    node.unwant('gone');
    node.worker('terminated', 'terminated');
    await start();
    await node.untilRemoved('terminated');
    expect([existsSync(volume('gone', 'disk')), existsSync(lost)]).toEqual([true, true]);
    expect(node.completions).toBe(0);
    node.complete();
    await node.until(() => node.completions === 1);
    expect([existsSync(join(root, 'pods/gone')), existsSync(join(root, 'pods/lost'))]).toEqual([false, false]);
    expect(existsSync(volume('wanted', 'disk'))).toBe(true);
    expect([...(await records.load()).keys()]).toEqual(['wanted']);
  });

  test('an ending pod keeps its volumes, and they are published', async () => {
    await start();
    const pod = podWith('a', [disk, memory]);
    node.want(pod);
    await node.untilReady('a');
    const before = node.published('a');
    await node.kill();
    node.want(pod, 'kill');
    node.worker('a', 'terminating');
    node.complete();
    await start();
    await node.until(() => node.completions === 1);
    expect(node.published('a')).toEqual(before);
  });

  // Each of these is left by a process that ends in the middle of making or removing.
  test.each<[string, () => Promise<void> | void]>([
    [
      'a folder that was not renamed yet',
      () => void mkdirSync(`${volume('a', 'disk')}.unfinished/x`, { recursive: true, mode: 0o750 }),
    ],
    ['a folder for a mount', () => void mkdirSync(volume('a', 'memory'), { recursive: true, mode: 0o750 })],
    ['only some parent folders', () => void mkdirSync(join(root, 'pods/a/volumes'), { recursive: true, mode: 0o750 })],
    [
      'a mount that was undone',
      async () => {
        mkdirSync(volume('a', 'memory'), { recursive: true, mode: 0o750 });
        await mount({ type: 'tmpfs', source: 'tmpfs', target: volume('a', 'memory'), options: [] });
        await unmount(volume('a', 'memory'));
      },
    ],
    ['a record alone', () => rmSync(join(root, 'pods'), { recursive: true, force: true })],
  ])('%s is completed for a desired pod, and removed for any other', async (_, leave) => {
    const folder = 'pods/a/volumes/kubernetes.io~empty-dir';
    const reference = [`777 0 ${folder}/disk`, `1777 0 ${folder}/memory tmpfs`];
    await records.put('a', { version: 1, ref: { namespace: 'default', name: 'a', uid: 'a' } });
    await leave();
    node.want(podWith('a', [disk, memory]));
    await start();
    await node.untilReady('a');
    expect((await everything(root)).slice(4)).toEqual(reference);
    await node.kill();

    node.worker('a', 'terminated');
    await start();
    node.complete();
    await node.until(() => node.completions === 1 && node.published('a') === undefined);
    expect(await everything(root)).toEqual(['750 0 pods']);

    await records.put('a', { version: 1, ref: { namespace: 'default', name: 'a', uid: 'a' } });
    await leave();
    await node.kill();
    node.unwant('a');
    node.worker('a', undefined);
    await start();
    await node.until(() => node.manager.count === 0);
    expect((await everything(root)).slice(1)).toEqual([]);
    expect(await records.load()).toEqual(new Map());
  });
});
