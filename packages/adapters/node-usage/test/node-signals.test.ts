import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { criCommands } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import { statfsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { NodeSignals } from '../src/index.ts';

const at = (mountpoint: string) => ({ fsId: { mountpoint } });

/** Signals of this machine, whose runtime has images and containers on the file systems of these folders. */
async function signalsOf(images: string, containers: string): Promise<NodeSignals> {
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
    runtime: { cgroupRoot: '/' },
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
