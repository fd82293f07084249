// The manager on a bus inside of the test, with the machine's real folders and mounts.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mount, unmount } from '@kubus/mount';
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

/** Resolves in the turn of the event loop in which `condition` holds. */
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
    expect(node.told('a')).toEqual({
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
    await node.until(() => node.told('a')?.ready === true);
    expect(existsSync(join(volume('a', 'disk'), 'file'))).toBe(true);
    node.worker('a', 'terminated');
    await node.untilGone('a');
    expect(await everything(root)).toEqual(['750 0 pods']);
    expect(readFileSync(join(dir, 'made/here/file'), 'utf8')).toBe('kept');
    expect(await records.load()).toEqual(new Map());

    node.worker('a', 'finished');
    node.unwant('a');
    node.worker('a', undefined);
    await settled();
    expect(node.manager.count).toBe(0);
  });

  test('without volumes is ready, and one of the same UID begins with empty ones', async () => {
    await start();
    node.want(podWith('none', []));
    await node.untilReady('none');
    expect(existsSync(join(root, 'pods'))).toBe(false);

    node.want(podWith('a', [disk]));
    await node.untilReady('a');
    writeFileSync(join(volume('a', 'disk'), 'file'), '');
    node.worker('a', 'finished');
    await node.untilGone('a');
    node.worker('a', undefined);
    await node.untilReady('a');
    expect(existsSync(join(volume('a', 'disk'), 'file'))).toBe(false);
  });

  test('that ends gets nothing more, and what there is of others stays', async () => {
    await start();
    node.complete();
    node.want(podWith('other', [disk]));
    node.want(podWith('a', [disk]), 'kill');
    node.worker('a', 'terminating');
    await node.untilReady('other');
    await node.until(() => node.told('a') !== undefined);
    expect(node.told('a')).toMatchObject({ ready: false, volumes: {} });
    node.worker('a', 'terminated');
    await node.untilGone('a');
    expect(existsSync(volume('other', 'disk'))).toBe(true);
    expect(existsSync(volume('a', 'disk'))).toBe(false);
  });

  test('whose volume is not there is told why, tried again after waits that grow, and does not delay others', async () => {
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
    await node.until(() => node.told('a') !== undefined);
    const refused = 'MountVolume.SetUp failed for volume "s" : this version of Kubus does not mount gitRepo volumes';
    expect(node.told('a')).toMatchObject({
      ready: false,
      volumes: { disk: { hostPath: volume('a', 'disk') } },
      errors: [
        `MountVolume.SetUp failed for volume "file" : hostPath type check failed: ${path} is not a file`,
        refused,
      ],
    });
    // Each volume has a wait of its own, and each try is told of.
    await node.until(() => node.events.length === 2 && clock.waits.length === 2);
    expect(clock.waits).toEqual([500, 500]);
    await clock.advance(500);
    await node.until(() => node.events.length === 4 && clock.waits.length === 2);
    expect(clock.waits).toEqual([1000, 1000]);
    expect(new Set(node.events)).toEqual(new Set(node.told('a')?.errors?.map((error) => `FailedMount ${error}`)));

    writeFileSync(path, '');
    node.want(podWith('a', [disk, { name: 'file', hostPath: { path, type: 'File' } }]));
    await node.untilReady('a');
    expect(node.told('a')?.errors).toBeUndefined();
    expect(clock.waits).toEqual([]);
  });

  test('whose name would lead out of its folder gets nothing', async () => {
    await start();
    node.want(podWith('../../../x', [disk]));
    await node.until(() => node.told('../../../x')?.errors !== undefined);
    expect(node.told('../../../x')?.errors).toEqual(['"../../../x" can not be the name of a folder']);
    expect(await everything(root)).toEqual([]);
  });

  test('with something mounted in its volume is removed without what is seen there; while in use it stays', async () => {
    await start();
    const other = join(dir, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'file'), 'kept');
    node.want(podWith('a', [disk, memory]));
    await node.untilReady('a');
    const inside = join(volume('a', 'disk'), 'inside');
    mkdirSync(inside);
    await mount({ type: 'none', source: other, target: inside, options: ['bind'] });
    // As long as a process is in it, it can not be unmounted.
    const busy = join(volume('a', 'memory'), 'busy');
    mkdirSync(busy);
    const cwd = process.cwd();
    process.chdir(busy);
    try {
      node.worker('a', 'terminated');
      await node.until(() => node.told('a')?.errors !== undefined);
      expect(node.told('a')?.errors).toEqual([expect.stringContaining('target is busy')]);
      expect(node.told('a')).toMatchObject({ ready: false, volumes: { disk: {}, memory: {} } });
    } finally {
      process.chdir(cwd);
    }
    await clock.advance(500);
    await node.untilGone('a');
    expect(await everything(root)).toEqual(['750 0 pods']);
    expect(readFileSync(join(other, 'file'), 'utf8')).toBe('kept');
  });

  test('is told of when it writes more into a volume than it may, once and for all', async () => {
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
    // Blocks count and not lengths, and what is in another volume does not.
    writeFileSync(file, Buffer.alloc(900 * 1024));
    truncateSync(file, 2 ** 30);
    writeFileSync(join(volume('a', 'other'), 'file'), Buffer.alloc(2 ** 21));
    await clock.advance(10_000);
    await polled(() => looks === 1);
    await settled();
    expect(node.told('a')?.excess).toBeUndefined();
    writeFileSync(join(volume('a', 'disk'), 'more'), Buffer.alloc(200 * 1024));
    await clock.advance(10_000);
    await node.until(() => node.told('a')?.excess !== undefined);
    const excess = { message: 'Usage of EmptyDir volume "disk" exceeds the limit "1Mi". ' };
    expect(node.told('a')).toMatchObject({ ready: true, excess });
    await clock.advance(60_000);
    expect(looks).toBe(2);
    rmSync(join(volume('a', 'disk'), 'more'));
    node.worker('a', 'terminating');
    await node.until(() => node.told('a')?.ready === true);
    expect(node.told('a')?.excess).toEqual(excess);
    node.worker('a', 'terminated');
    await node.untilGone('a');
  });

  test('whose volume hangs delays no other pod and none of its own volumes, and is removed when that has ended', async () => {
    let release = () => {};
    const hanging = new Promise<void>((resolve) => (release = resolve));
    const machine = host;
    const hangs = (uid: string) => join(dir, `hangs-${uid}`);
    host = {
      ...machine,
      make: async (step, tell) => {
        if (step.kind === 'host') await hanging;
        return machine.make(step, tell);
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
    await node.until(() => node.told('a')?.volumes['disk'] !== undefined);
    expect(node.told('a')).toMatchObject({ ready: false, volumes: { disk: {} } });
    expect(node.manager.ready).toBe(true);
    for (const uid of ['a', 'other']) node.worker(uid, 'terminated');
    await node.untilGone('other');
    expect(existsSync(volume('a', 'disk'))).toBe(true);
    release();
    await node.untilGone('a');
    await node.untilReady('b');
    expect(existsSync(join(root, 'pods/a'))).toBe(false);
  });

  test('gets nothing as long as its record can not be written', async () => {
    await start();
    records.failure = new Error('no space');
    node.want(podWith('a', [disk]));
    await node.until(() => node.told('a')?.errors !== undefined);
    expect(node.told('a')?.errors).toEqual(['no space']);
    expect(await everything(root)).toEqual([]);
    records.failure = undefined;
    await clock.advance(500);
    await node.untilReady('a');
  });
});

describe('after a restart', () => {
  test('what is there is found, and nothing is made or lost', async () => {
    await start();
    const pod = podWith('a', [disk, memory]);
    node.want(pod);
    await node.untilReady('a');
    const before = node.told('a');
    for (const name of ['disk', 'memory']) writeFileSync(join(volume('a', name), 'file'), name);
    const was = await everything(root);
    await node.kill();
    node.worker('a', 'syncing');
    node.complete();
    await start();
    await node.until(() => node.completions === 1);
    expect(node.told('a')).toEqual(before);
    expect(await everything(root)).toEqual(was);
    expect(node.manager.ready).toBe(true);
  });

  test('what nobody speaks of is removed, but not before all is known', async () => {
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
    await node.untilGone('terminated');
    expect([existsSync(volume('gone', 'disk')), existsSync(lost)]).toEqual([true, true]);
    expect(node.completions).toBe(0);
    node.complete();
    await node.until(() => node.completions === 1);
    expect([existsSync(join(root, 'pods/gone')), existsSync(join(root, 'pods/lost'))]).toEqual([false, false]);
    expect(existsSync(volume('wanted', 'disk'))).toBe(true);
    expect([...(await records.load()).keys()]).toEqual(['wanted']);
  });

  test('a pod that ends keeps what it has, and is told of', async () => {
    await start();
    const pod = podWith('a', [disk, memory]);
    node.want(pod);
    await node.untilReady('a');
    const before = node.told('a');
    await node.kill();
    node.want(pod, 'kill');
    node.worker('a', 'terminating');
    node.complete();
    await start();
    await node.until(() => node.completions === 1);
    expect(node.told('a')).toEqual(before);
  });

  // Each of these is what a life leaves that ends in the middle of making or removing.
  test.each<[string, () => Promise<void> | void]>([
    [
      'a folder that has no name yet',
      () => void mkdirSync(`${volume('a', 'disk')}.unfinished/x`, { recursive: true, mode: 0o750 }),
    ],
    ['a folder for a mount', () => void mkdirSync(volume('a', 'memory'), { recursive: true, mode: 0o750 })],
    ['only some folders above', () => void mkdirSync(join(root, 'pods/a/volumes'), { recursive: true, mode: 0o750 })],
    [
      'a mount that was undone',
      async () => {
        mkdirSync(volume('a', 'memory'), { recursive: true, mode: 0o750 });
        await mount({ type: 'tmpfs', source: 'tmpfs', target: volume('a', 'memory'), options: [] });
        await unmount(volume('a', 'memory'));
      },
    ],
    ['a record alone', () => rmSync(join(root, 'pods'), { recursive: true, force: true })],
  ])('%s is completed for a pod that is wanted, and removed for one that is not', async (_, leave) => {
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
    await node.until(() => node.completions === 1 && node.told('a') === undefined);
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
