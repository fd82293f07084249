// Parts of volumes that containers mount, on a bus within the test, with the machine's real folders and mounts.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { EnvironmentPlan, Pod } from '@kubus/contracts';
import { mountsBelow } from '@kubus/filesystem';
import type { ObjectReader } from '@kubus/object-socket';
import { type Logger, silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type VolumeHost, createVolumeHost } from '../src/index.ts';
import { ScriptedNode, podWith } from './scripted-node.ts';
import { everything, makeRoot, removeRoot } from './test-root.ts';

/** The content of a Secret, which must not be readable anywhere. */
const VALUE = 's3cret-folder';
const secret = { kind: 'Secret', namespace: 'default', name: 'sec' } as const;
const objects: ObjectReader = {
  read: () => {
    const values = new Map([
      ['folder', Buffer.from(VALUE)],
      ['out', Buffer.from(`${VALUE}/../..`)],
    ]);
    return Promise.resolve({ uid: 'u', version: '1', type: 'Opaque', values, binaryValues: new Map() });
  },
};
const environment: EnvironmentPlan = {
  device: [],
  steps: [
    { from: 'key', name: 'FOLDER', object: secret, key: 'folder', optional: false },
    { from: 'key', name: 'OUT', object: secret, key: 'out', optional: false },
    { from: 'text', name: 'DEEP', text: 'deep/$(FOLDER)' },
  ],
  services: [],
};
const completed = { environment, objects: [{ ...secret, version: '1' }] };

let dir: string;
let root: string;
let data: string;
let pod: Pod;
let clock: ManualClock;
let node: ScriptedNode;
let records: MemoryRecords;
let host: VolumeHost;
let logged: string[];
const logger: Logger = {
  ...silentLogger,
  warn: (...words: unknown[]) => void logged.push(JSON.stringify(words)),
  child: () => logger,
};

beforeEach(async () => {
  dir = makeRoot();
  [root, data] = [join(dir, 'node'), join(dir, 'data')];
  for (const folder of [root, data]) mkdirSync(folder);
  pod = podWith('a', [{ name: 'data', hostPath: { path: data } }]);
  clock = new ManualClock();
  node = new ScriptedNode(clock);
  records = new MemoryRecords();
  host = createVolumeHost({ root, clock, logger: silentLogger });
  logged = [];
  await start();
  node.complete();
  node.want(pod);
  node.worker('a', 'syncing');
  await node.untilReady('a');
});
afterEach(async () => {
  await node.kill();
  await removeRoot(dir);
});

const start = () => node.start({ root, host, records, objects, logger });
const place = (index: number) => join(root, `pods/a/volume-subpaths/data/main/${index}`);
const read = (path: string) => readFileSync(path, 'utf8');
const mounts = async () => (await mountsBelow(root)).map(({ target }) => target);

describe('a subPath of a volume', () => {
  test('is mounted, and removed with the pod; the volume keeps its content', async () => {
    chmodSync(data, 0o2770);
    writeFileSync(join(data, 'file'), 'of the volume');
    const paths = await node.subPaths('a', [
      { volume: 'data', subPath: 'made/deep' },
      { volume: 'data', subPath: 'file' },
    ]);
    expect(paths).toEqual([place(0), place(1)]);
    expect(statSync(place(0)).mode).toBe(0o42770);
    writeFileSync(join(place(0), 'new'), 'written');
    expect([read(join(data, 'made/deep/new')), read(place(1))]).toEqual(['written', 'of the volume']);
    expect([...(await records.load()).keys()]).toEqual(['a']);

    node.worker('a', 'terminated');
    await node.untilRemoved('a');
    expect(await everything(root)).toEqual(['750 0 pods']);
    expect(read(join(data, 'made/deep/new'))).toBe('written');
    expect(await records.load()).toEqual(new Map());
  });

  test('stays while its file is the same, and follows the path for a restarted container', async () => {
    const ask = () => node.subPaths('a', [{ volume: 'data', subPath: 'x' }]);
    mkdirSync(join(data, 'x'));
    await ask();
    const [first] = await mountsBelow(root);
    await ask();
    expect(await mountsBelow(root)).toEqual([first]);
    renameSync(join(data, 'x'), join(data, 'old'));
    writeFileSync(join(data, 'x'), 'a file now');
    expect(await ask()).toEqual([place(0)]);
    expect(read(place(0))).toBe('a file now');
    rmSync(join(data, 'x'));
    mkdirSync(join(data, 'x'));
    writeFileSync(join(data, 'x/y'), 'a folder again');
    await ask();
    expect(read(join(place(0), 'y'))).toBe('a folder again');
    expect(await mounts()).toEqual([place(0)]);
  });

  test('is found and removed by a later process when its pod is no longer published', async () => {
    await node.subPaths('a', [{ volume: 'data', subPath: 'x' }]);
    await node.kill();
    records = new MemoryRecords();
    node = new ScriptedNode(clock);
    await start();
    node.complete();
    await node.until(() => node.completions === 1);
    expect(await everything(root)).toEqual(['750 0 pods']);
  });

  test('is not removed while it is being made', async () => {
    const [asked, go] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const machine = host;
    await node.kill();
    host = {
      ...machine,
      subPath: async (mount) => {
        asked.resolve(undefined);
        await go.promise;
        return machine.subPath(mount);
      },
    };
    await start();
    await node.until(() => node.completions === 1);
    const path = node.subPaths('a', [{ volume: 'data', subPath: 'x' }]);
    await asked.promise;
    node.worker('a', 'terminated');
    const late = node.subPaths('a', [{ volume: 'data', subPath: 'y' }]);
    go.resolve(undefined);
    await path;
    await expect(late).rejects.toMatchObject({ code: 'VolumesNotReady' });
    await node.untilRemoved('a');
    expect(await everything(root)).toEqual(['750 0 pods']);
  });

  test('waits for its volume', async () => {
    const ask = (uid: string, volume: string) => node.subPaths(uid, [{ volume, subPath: 'x' }]);
    await expect(ask('a', 'other')).rejects.toMatchObject({ code: 'VolumesNotReady' });
    await expect(ask('b', 'data')).rejects.toMatchObject({ code: 'VolumesNotReady' });
  });
});

describe('a path with variables', () => {
  test('may contain values of Secrets, which appear in no message', async () => {
    const paths = await node.subPaths('a', [{ volume: 'data', subPathExpr: '$(DEEP)/$$(FOLDER)' }], completed);
    writeFileSync(join(paths[0] ?? '', 'file'), 'found');
    expect(read(join(data, 'deep', VALUE, '$(FOLDER)/file'))).toBe('found');
    expect(JSON.stringify(node.said)).not.toContain(VALUE);
  });

  test('that is empty is the whole volume', async () => {
    const plan = { ...environment, steps: [{ from: 'value', name: 'DOT', value: '.' } as const] };
    const paths = await node.subPaths('a', [{ volume: 'data', subPathExpr: '$(DOT)' }], { environment: plan });
    writeFileSync(join(paths[0] ?? '', 'file'), 'found');
    expect(read(join(data, 'file'))).toBe('found');
  });

  test.each([
    ['$(NONE)', 'missing value for NONE'],
    ['$(OUT)', "unable to provision SubPath `$(OUT)`: must not contain '..'"],
    ['/$(FOLDER)', 'error SubPath `/$(FOLDER)` must not be an absolute path'],
    ['link', 'failed to prepare subPath for volumeMount "data" of container "main"'],
    ['$(FOLDER)/file', 'failed to prepare subPath for volumeMount "data" of container "main"'],
    ['link/$(FOLDER)', 'failed to create subPath directory for volumeMount "data" of container "main"'],
  ])('%s is refused, without showing any value', async (subPathExpr, message) => {
    symlinkSync('..', join(data, 'link'));
    writeFileSync(join(data, VALUE), '');
    const asked = node.subPaths('a', [{ volume: 'data', subPathExpr }], completed);
    await expect(asked).rejects.toMatchObject({ code: 'CreateContainerConfigError', message });
    expect(await mounts()).toEqual([]);
    expect(logged).toHaveLength(message.startsWith('failed') ? 1 : 0);
    expect(JSON.stringify([node.said, logged])).not.toContain(VALUE);
  });
});
