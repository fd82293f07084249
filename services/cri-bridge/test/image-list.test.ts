import { beforeEach, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { runtimeImages } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { Runtime } from '../src/index.ts';
import { ImageList } from '../src/image-list.ts';
import { ScriptedRuntime, failure } from './scripted-runtime.ts';

let clock: ManualClock;
let runtime: ScriptedRuntime;
let heard: Runtime;
let sizes: Map<string, number>;
let told: string[][];

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
  told = [];
  broker.join('cli', clock).bus.reader(runtimeImages, {
    changed: ({ value }) => told.push(value.images.map(({ names, sizeBytes }) => `${names.join()} ${sizeBytes}`)),
  });
  const list = new ImageList({ runtime, bus: broker.join('cri-bridge', clock).bus, clock, logger: silentLogger });
  heard = list.heardFrom(runtime);
  list.start();
  await settled();
});

test('what the runtime has is told, digests first, and again only when it is different', async () => {
  expect(told).toEqual([['web@sha256:0,web:1 7']]);
  await clock.advance(30_000);
  expect(runtime.count('ListImages')).toBe(2);
  sizes.set('db', 9);
  await clock.advance(30_000);
  expect(told.slice(1)).toEqual([['web@sha256:0,web:1 7', 'db@sha256:0,db:1 9']]);
});

test.each(['PullImage', 'RemoveImage'] as const)('%s: several are read once, soon', async (method) => {
  sizes.delete('web');
  await heard.call(method, {});
  await clock.advance(500);
  await heard.call(method, {});
  await clock.advance(500);
  expect(runtime.count('ListImages')).toBe(2);
  expect(told.at(-1)).toEqual([]);
  await clock.advance(29_999);
  expect(runtime.count('ListImages')).toBe(2);
});

test('what others read is not read again, unless they have read a part', async () => {
  await clock.advance(20_000);
  sizes.set('db', 9);
  await heard.call('ListImages', { filter: { image: { image: 'db' } } });
  await settled();
  expect(told).toHaveLength(1);
  await heard.call('ListImages', {});
  await settled();
  expect(told).toHaveLength(2);
  await clock.advance(29_999);
  expect(runtime.count('ListImages')).toBe(3);
  await clock.advance(1);
  expect(runtime.count('ListImages')).toBe(4);
});

test('a runtime that can not list them is asked again', async () => {
  runtime.on('ListImages', () => Promise.reject(failure('Unavailable', 'away')));
  await clock.advance(60_000);
  expect(runtime.count('ListImages')).toBe(3);
  expect(told).toHaveLength(1);
});
