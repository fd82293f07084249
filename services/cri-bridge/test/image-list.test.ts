import { beforeEach, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { runtimeImages } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { Runtime } from '../src/index.ts';
import { ImageList } from '../src/image/image-list.ts';
import { ScriptedRuntime, failure } from './scripted-runtime.ts';

let clock: ManualClock;
let runtime: ScriptedRuntime;
let wrapped: Runtime;
let sizes: Map<string, number>;
let published: string[][];

beforeEach(async () => {
  clock = new ManualClock();
  sizes = new Map([['web', 7]]);
  runtime = new ScriptedRuntime()
    .on('ListImages', () => ({
      images: [...sizes].map(([name, size]) => ({
        id: name,
        size: String(size),
        repoTags: [`${name}:1`],
        repoDigests: [`${name}@sha256:0`],
      })),
    }))
    .on('PullImage', () => ({}))
    .on('RemoveImage', () => ({}));
  const broker = new LocalBroker('node0');
  published = [];
  broker.join('cli', clock).bus.reader(runtimeImages, {
    changed: ({ value }) => published.push(value.images.map(({ names, sizeBytes }) => `${names.join()} ${sizeBytes}`)),
  });
  const list = new ImageList({ runtime, bus: broker.join('cri-bridge', clock).bus, clock, logger: silentLogger });
  wrapped = list.observed(runtime);
  list.start();
  await settled();
});

test('the runtime’s images are published, digests first, and again only when they change', async () => {
  expect(published).toEqual([['web@sha256:0,web:1 7']]);
  await clock.advance(30_000);
  expect(runtime.count('ListImages')).toBe(2);
  sizes.set('db', 9);
  await clock.advance(30_000);
  expect(published.slice(1)).toEqual([['web@sha256:0,web:1 7', 'db@sha256:0,db:1 9']]);
});

test.each(['PullImage', 'RemoveImage'] as const)(
  'after several %s calls the list is read once, soon',
  async (method) => {
    sizes.delete('web');
    await wrapped.call(method, {});
    await clock.advance(500);
    await wrapped.call(method, {});
    await clock.advance(500);
    expect(runtime.count('ListImages')).toBe(2);
    expect(published.at(-1)).toEqual([]);
    await clock.advance(29_999);
    expect(runtime.count('ListImages')).toBe(2);
  },
);

test('a list that another part has read is not read again, unless it was filtered', async () => {
  await clock.advance(20_000);
  sizes.set('db', 9);
  await wrapped.call('ListImages', { filter: { image: { image: 'db' } } });
  await settled();
  expect(published).toHaveLength(1);
  await wrapped.call('ListImages', {});
  await settled();
  expect(published).toHaveLength(2);
  await clock.advance(29_999);
  expect(runtime.count('ListImages')).toBe(3);
  await clock.advance(1);
  expect(runtime.count('ListImages')).toBe(4);
});

test('the list is read again after the runtime failed to return it', async () => {
  runtime.on('ListImages', () => Promise.reject(failure('Unavailable', 'away')));
  await clock.advance(60_000);
  expect(runtime.count('ListImages')).toBe(3);
  expect(published).toHaveLength(1);
});
