import { beforeEach, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { runtimeNodeEvent } from '@kubus/contracts';
import { CriError } from '@kubus/cri';
import type { DiskSpace } from '@kubus/images';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import { EventRecorder } from '@kubus/service-kit';
import { ImageCollector } from '../src/image/image-collector.ts';
import { PulledImages } from '../src/index.ts';
import { ScriptedRuntime, failure } from './scripted-runtime.ts';

const ROUND = 300_000;

let clock: ManualClock;
let runtime: ScriptedRuntime;
let pulledStore: MemoryRecords;
let images: Map<string, number>;
let inUse: string[];
let disk: DiskSpace;
let mounted: string[];
let events: string[];
let collector: ImageCollector;

beforeEach(async () => {
  clock = new ManualClock();
  pulledStore = new MemoryRecords();
  images = new Map(['pause', 'web', 'old', 'older'].map((name) => [name, 10]));
  inUse = ['web'];
  mounted = [];
  disk = { capacity: 100, available: 50 };
  events = [];
  runtime = new ScriptedRuntime()
    .on('ListImages', () => ({
      images: [...images].map(([name, size]) => ({
        id: `id-${name}`,
        size: String(size),
        repoTags: [`r.io/${name}:1`],
      })),
    }))
    .on('ListContainers', () => ({ containers: inUse.map((name) => ({ id: name, imageRef: `id-${name}` })) }))
    .on('ContainerStatus', ({ containerId = '' }) => {
      const mounts = mounted.map((name) => ({ image: { image: `id-${name}` } }));
      if (containerId === 'gone') throw new CriError('NotFound', 'not found', { method: 'ContainerStatus' });
      return { status: { mounts: containerId === 'web' ? mounts : [] } };
    })
    .on('ImageFsInfo', () => ({ imageFilesystems: [{ fsId: { mountpoint: '/images' } }] }))
    .on('RemoveImage', ({ image }) => {
      const name = (image?.image ?? '').replace('id-', '');
      disk = { ...disk, available: disk.available + (images.get(name) ?? 0) };
      images.delete(name);
      return {};
    });
  await make({});
});

async function make(policy: { maxAgeMs?: number; highPercent?: number }): Promise<void> {
  const broker = new LocalBroker('node0');
  const { bus } = broker.join('cri-bridge', clock);
  events = [];
  bus.transport.subscribe('kubus.node0.runtime.event.nodeRecorded.>', ({ data }) => {
    const { type, reason, message } = runtimeNodeEvent.payload.parse(JSON.parse(data));
    events.push(`${type} ${reason}: ${message}`);
  });
  const pulled = await PulledImages.load({ pulling: new MemoryRecords(), pulled: pulledStore, logger: silentLogger });
  collector = new ImageCollector({
    ...{ runtime, clock, pulled, logger: silentLogger },
    nodeEvents: new EventRecorder({ bus, clock }).ofNode(runtimeNodeEvent),
    policy: { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0, ...policy },
    keep: ['r.io/pause:1'],
    space: (path) => (path === '/images' ? Promise.resolve(disk) : Promise.reject(new Error(path))),
  });
}

const left = () => [...images.keys()];

test('no image is removed while there is space, and no recent one at all', async () => {
  collector.start();
  await clock.advance(ROUND);
  expect(left()).toHaveLength(4);
  images.set('new', 10);
  disk = { capacity: 100, available: 0 };
  images.delete('old');
  images.delete('older');
  await clock.advance(ROUND);
  expect(left()).toEqual(['pause', 'web', 'new']);
});

test('the least recently used images are removed until there is enough space', async () => {
  inUse = ['web', 'old'];
  collector.start();
  await clock.advance(1);
  inUse = ['web'];
  disk = { capacity: 100, available: 11 };
  await clock.advance(ROUND);
  expect(left()).toEqual(['pause', 'web', 'old']);
  expect(collector.removed).toEqual({ age: 0, space: 1 });
  expect(events).toEqual([]);
});

test('an image that a container has as a volume is kept', async () => {
  [inUse, mounted] = [['gone', 'web'], ['old']];
  disk = { capacity: 100, available: 0 };
  collector.start();
  await clock.advance(ROUND);
  expect(left()).toEqual(['pause', 'web', 'old']);
});

test('an image that a pod was just allowed to use is kept', async () => {
  collector.start();
  await clock.advance(ROUND - 60_000);
  collector.given('id-old');
  collector.given('id-older');
  disk = { capacity: 100, available: 11 };
  await clock.advance(60_000);
  expect(left()).toHaveLength(4);
  expect(events[0]).toMatch(/^Warning FreeDiskSpaceFailed: Insufficient .*\(89% of 100 B used\)\. .*\(freed 0 bytes\)/);
});

test('too little space is reported each time, failed garbage collection from the second time on', async () => {
  disk = { capacity: 1000, available: 0 };
  collector.start();
  await clock.advance(ROUND);
  await clock.advance(ROUND);
  expect(events.map((text) => text.split(':', 1)[0])).toEqual([
    'Warning FreeDiskSpaceFailed',
    'Warning FreeDiskSpaceFailed',
    'Warning ImageGCFailed',
    'Warning FreeDiskSpaceFailed',
    'Warning ImageGCFailed',
  ]);
  expect(left()).toEqual(['pause', 'web']);
});

test('a file system with capacity 0 is reported', async () => {
  disk = { capacity: 0, available: 0 };
  collector.start();
  await settled();
  expect(events).toEqual(['Warning InvalidDiskCapacity: invalid capacity 0 on image filesystem']);
});

test('an image that cannot be removed does not stop the removal of others', async () => {
  runtime.on('RemoveImage', ({ image }) => {
    if (image?.image === 'id-old') throw failure('Unknown', 'it is busy');
    images.delete((image?.image ?? '').replace('id-', ''));
    return {};
  });
  collector.start();
  disk = { capacity: 100, available: 0 };
  await clock.advance(ROUND);
  expect(left()).toEqual(['pause', 'web', 'old']);
  expect(events.at(-1)).toBe(
    'Warning ImageGCFailed: wanted to free 20 bytes, but freed 10 bytes space with errors in image deletion: ' +
      'rpc error: code = Unknown desc = it is busy',
  );
});

test('the maximum age applies once the node has been up for long enough', async () => {
  await make({ maxAgeMs: 2 * ROUND, highPercent: 100 });
  inUse = ['web', 'old'];
  collector.start();
  await clock.advance(ROUND);
  inUse = ['web'];
  mounted = [];
  await clock.advance(ROUND);
  expect(left()).toHaveLength(4);
  await clock.advance(ROUND);
  expect(left()).toEqual(['pause', 'web', 'old']);
  await clock.advance(ROUND);
  expect(left()).toEqual(['pause', 'web']);
  expect(collector.removed).toEqual({ age: 2, space: 0 });
});

test('a policy that never removes anything reads nothing from the runtime', async () => {
  await make({ highPercent: 100 });
  collector.start();
  await settled();
  expect(runtime.calls).toEqual([]);
});

test('the record of a pulled image is removed with the image', async () => {
  const stores = { pulling: new MemoryRecords(), pulled: pulledStore };
  const before = await PulledImages.load({ ...stores, logger: silentLogger });
  for (const name of ['web', 'gone']) {
    await before.succeed(`${name}:1`, { imageRef: `id-${name}`, name, secret: undefined });
  }
  await make({});
  collector.start();
  await settled();
  expect([...(await pulledStore.load()).values()]).toMatchObject([{ imageRef: 'id-web' }]);
});

test('all images that are not in use and old enough are removed when the node lacks space elsewhere', async () => {
  await collector.free();
  expect(left()).toHaveLength(4);
  images.set('new', 10);
  await clock.advance(120_000);
  expect(await collector.free()).toEqual({ images: 2, bytes: 20 });
  expect([left(), collector.removed.space]).toEqual([['pause', 'web', 'new'], 2]);
  await clock.advance(120_000);
  runtime.on('RemoveImage', () => {
    throw failure('Unknown', 'busy');
  });
  await expect(collector.free()).rejects.toThrow('errors in image deletion: rpc error: code = Unknown desc = busy');
});
