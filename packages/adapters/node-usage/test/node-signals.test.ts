import { expect, test } from '@jest/globals';
import { cgroupHierarchies, cgroupMounts, cgroupTree, removeFolders } from '@kubus/cgroup';
import { LocalBroker } from '@kubus/bus/testing';
import { criCommands } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import { randomBytes } from 'node:crypto';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { NodeSignals } from '../src/index.ts';

/** 64 MiB. */
const LIMIT = 2 ** 26;

const at = (mountpoint: string) => ({ fsId: { mountpoint } });

/** Signals of this machine, whose runtime has images and containers on the file systems of these folders. */
async function signalsOf(images: string, containers: string, cgroupRoot = '/'): Promise<NodeSignals> {
  const broker = new LocalBroker('node0');
  broker.join('cri-bridge', systemClock).bus.serve(criCommands.ImageFsInfo, () =>
    Promise.resolve({
      response: { imageFilesystems: [at(images)], containerFilesystems: [at(containers)] },
      at: { epoch: 1, counter: 1 },
    }),
  );
  const { bus } = broker.join('node-agent', systemClock);
  const config = {
    pods: { root: '/', cgroupDriver: 'cgroupfs' },
    runtime: { cgroupRoot },
  } as Parameters<typeof NodeSignals.start>[0]['config'];
  return NodeSignals.start({ config, bus, clock: systemClock, logger: silentLogger });
}

test('every signal of the machine is read', async () => {
  const { observations, disks } = await (await signalsOf('/', '/')).read();
  const { blocks, bsize, files } = statfsSync('/');
  expect(disks).toBe('one');
  for (const name of ['nodefs', 'imagefs', 'containerfs'] as const) {
    expect(observations[`${name}.available`]?.capacity).toBe(blocks * bsize);
    expect(observations[`${name}.inodesFree`]?.capacity).toBe(files);
  }
  expect(observations['memory.available']?.capacity).toBe(totalmem());
  for (const name of ['memory.available', 'nodefs.available', 'pid.available'] as const) {
    const { available = 0, capacity = 0 } = observations[name] ?? {};
    expect([available > 0, available < capacity]).toEqual([true, true]);
  }
});

test.each([
  ['/proc', '/proc', 'images'],
  ['/proc', '/', 'split'],
] as const)('images at %s and containers at %s: %s', async (images, containers, expected) => {
  const { disks } = await (await signalsOf(images, containers)).read();
  expect(disks).toBe(expected);
});

test('the memory of all pods is read as soon as their cgroup is made, with the first pod', async () => {
  const root = `/kubus-test-${process.pid}-${randomBytes(3).toString('hex')}`;
  const signals = await signalsOf('/', '/', root);
  expect((await signals.read()).observations['allocatableMemory.available']).toBeUndefined();
  try {
    for (const mount of await cgroupHierarchies()) mkdirSync(join(mount, root, 'kubepods'), { recursive: true });
    const { version, controllers } = await cgroupMounts();
    const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    writeFileSync(join(controllers.get('memory') ?? '', root, 'kubepods', file), String(LIMIT));
    const { available, capacity } = (await signals.read()).observations['allocatableMemory.available'] ?? {};
    expect([available, capacity]).toEqual([LIMIT, LIMIT]);
  } finally {
    expect(await removeFolders(await cgroupTree(root))).toBeUndefined();
  }
});
