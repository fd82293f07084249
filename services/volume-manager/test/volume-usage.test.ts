// The usage of volumes, with real files; and how it is reported.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { volumeStats } from '@kubus/contracts';
import { mount, unmount } from '@kubus/filesystem';
import { ManualClock } from '@kubus/ports/testing';
import type { VolumeStep } from '@kubus/volume';
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { VolumeUsage } from '../src/usage/file-system-stats.ts';
import type { PodVolume } from '../src/pod/pod-volumes.ts';
import { volumeUsage } from '../src/usage/volume-usage.ts';
import { VolumeUsages, serveVolumeStats } from '../src/usage/volume-usages.ts';

const noCsi = { stats: () => Promise.resolve(undefined) };

describe('the usage of a volume', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'kubus-usage-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const folder = (): VolumeStep => ({ kind: 'folder', path: dir, mode: 0o777 });
  const du = (...options: string[]) =>
    Number(/^\d+/.exec(execFileSync('du', ['--summarize', ...options, dir], { encoding: 'utf8' }))?.[0]);

  // Those of a large folder are counted by du(1).
  test.each([3, 400])('in a folder of %d files is that of its content', async (count) => {
    mkdirSync(join(dir, 'below'));
    for (let index = 0; index < count; index += 1) writeFileSync(join(dir, 'below', String(index)), 'x'.repeat(5000));
    linkSync(join(dir, 'below', '0'), join(dir, 'again'));
    const usage = await volumeUsage(folder(), noCsi);
    const { blocks, bsize } = statfsSync(dir);
    expect(usage?.usedBytes).toBe(du('--block-size=1'));
    expect(usage?.usedBytes).toBeGreaterThan(count * 5000);
    expect(usage?.inodesUsed).toBe(count + 2);
    expect(usage?.capacityBytes).toBe(blocks * bsize);
  });

  test('in memory is that of its file system', async () => {
    await mount({ type: 'tmpfs', source: 'tmpfs', target: dir, options: ['size=1m', 'nr_inodes=100'] });
    try {
      writeFileSync(join(dir, 'file'), 'x'.repeat(8192));
      const memory = { kind: 'memory', path: dir, type: 'tmpfs', options: [] } as const;
      const content: VolumeStep = { kind: 'content', folder: memory, files: [], objects: [], mountPoints: [] };
      for (const step of [memory, content]) {
        expect(await volumeUsage(step, noCsi)).toEqual({
          ...{ capacityBytes: 1024 * 1024, availableBytes: 1024 * 1024 - 8192, usedBytes: 8192 },
          ...{ inodes: 100, inodesFree: 98, inodesUsed: 2 },
        });
      }
    } finally {
      await unmount(dir);
    }
  });

  test('from the host’s own files is not reported', async () => {
    expect(await volumeUsage({ kind: 'host', path: dir, type: '' }, noCsi)).toBeUndefined();
  });
});

describe('usages', () => {
  const usage: VolumeUsage = {
    ...{ capacityBytes: 10, availableBytes: 6, usedBytes: 4, inodes: 5, inodesFree: 3, inodesUsed: 2 },
  };
  const volume = (uid: string, name: string, more: Partial<PodVolume> = {}): PodVolume => ({
    ...{ uid, name, step: { kind: 'folder', path: '/x', mode: 0o777 }, mounted: { hostPath: '/x' } },
    ...more,
  });
  let clock: ManualClock;
  let volumes: PodVolume[];
  let measured: string[];
  beforeEach(() => {
    clock = new ManualClock();
    measured = [];
  });
  const make = (look: (one: PodVolume) => Promise<VolumeUsage | undefined> = () => Promise.resolve(usage)) =>
    new VolumeUsages({
      clock,
      volumes: () => volumes,
      usage: (one) => {
        measured.push(one.name);
        return look(one);
      },
    });

  test('are read once a minute, those of new volumes at once', async () => {
    const usages = make();
    volumes = [volume('a', 'one'), volume('a', 'missing', { mounted: undefined })];
    expect(await usages.read()).toHaveLength(1);
    volumes.push(volume('b', 'two'));
    expect(await usages.read()).toHaveLength(2);
    await clock.advance(59_999);
    await usages.read();
    expect(measured).toEqual(['one', 'two']);
    await clock.advance(1);
    await usages.read();
    expect(measured).toEqual(['one', 'two', 'one', 'two']);
  });

  test('of a volume that does not answer are waited for a second, and the previous value stays', async () => {
    let answer: Promise<VolumeUsage | undefined> = Promise.resolve(usage);
    const usages = make(() => answer);
    volumes = [volume('a', 'one')];
    await usages.read();
    await clock.advance(60_000);
    answer = new Promise(() => undefined);
    const reading = usages.read();
    await clock.advance(1_000);
    expect(await reading).toMatchObject([{ usage, readAt: clock.now() - 61_000 }]);
  });

  test('that cannot be read are left out', async () => {
    volumes = [volume('a', 'one'), volume('a', 'two')];
    const failing = ({ name }: PodVolume) =>
      name === 'one' ? Promise.reject(new Error('no')) : Promise.resolve(undefined);
    expect(await make(failing).read()).toEqual([]);
  });

  test('of all pods are reported together', async () => {
    const broker = new LocalBroker('node0');
    const claim = { namespace: 'default', name: 'disk' };
    const nfs: PodVolume['step'] = { kind: 'nfs', path: '/n', source: 's:/', options: [], readOnly: false, claim };
    volumes = [volume('a', 'one'), volume('b', 'two', { step: nfs })];
    serveVolumeStats(broker.join('volume-manager', clock).bus, make());
    const asking = broker.join('node-api', clock).bus.call(volumeStats, 'node0', {});
    const { result } = await asking;
    expect(result.pods).toEqual({
      a: [{ name: 'one', local: true, ...usage, readAt: clock.now() }],
      b: [{ name: 'two', claim, local: false, ...usage, readAt: clock.now() }],
    });
  });
});
