import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type PressureCondition, nodePressure } from '@kubus/contracts';
import { parseThresholds } from '@kubus/eviction';
import type { SignalReading } from '@kubus/node-usage';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { PressureWatch } from '../src/pressure/pressure-watch.ts';
import { Member, NAME, NODE, conditionOf, isReady } from './member.ts';

const START = Date.UTC(2030, 0, 1);

function watched(evictionHard: Record<string, string>) {
  const clock = new ManualClock(START);
  const broker = new LocalBroker(NAME);
  const published: (readonly PressureCondition[])[] = [];
  broker.join('sync-loop', clock).bus.reader(nodePressure, {
    changed: ({ value }) => void published.push(value.conditions),
  });
  const found = { percent: 50, changes: 0, reads: 0, fails: false };
  const read = (): Promise<SignalReading> => {
    found.reads += 1;
    if (found.fails) return Promise.reject(new Error('no cgroup'));
    const observation = { available: found.percent, capacity: 100, atMs: clock.now() };
    return Promise.resolve({ observations: { 'imagefs.available': observation }, disks: 'images' });
  };
  const none = { evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} };
  const watch = new PressureWatch({
    ...{ bus: broker.join('node-agent', clock).bus, clock, logger: silentLogger, transitionMs: 60_000, read },
    thresholds: parseThresholds({ ...none, evictionHard }, { enforcesPods: false }),
    changed: () => void (found.changes += 1),
    relieve: () => Promise.resolve(false),
  });
  return { clock, published, found, watch };
}

test('the conditions are published when they change, and end after the transition period', async () => {
  const { clock, published, found, watch } = watched({ 'imagefs.available': '15%' });
  await settled();
  expect(published).toEqual([[]]);
  found.percent = 14;
  await clock.advance(10_000);
  await settled();
  expect([published.at(-1), watch.pressure]).toEqual([['DiskPressure'], { memory: false, disk: true, pid: false }]);
  found.percent = 50;
  for (let pass = 0; pass < 5; pass++) {
    await clock.advance(10_000);
    await settled();
  }
  expect(published).toHaveLength(2);
  await clock.advance(10_000);
  await settled();
  expect([published, found.changes]).toEqual([[[], ['DiskPressure'], []], 3]);
  watch.stop();
});

test('a failed reading changes nothing, and the next one counts', async () => {
  const { clock, published, found, watch } = watched({ 'imagefs.available': '15%' });
  await settled();
  Object.assign(found, { fails: true, percent: 1 });
  await clock.advance(10_000);
  await settled();
  expect(published).toEqual([[]]);
  found.fails = false;
  await clock.advance(10_000);
  await settled();
  expect(published.at(-1)).toEqual(['DiskPressure']);
  watch.stop();
});

test('a reading that is asked for is made a second after the last one, and counts as one of the others', async () => {
  const { clock, published, found, watch } = watched({ 'imagefs.available': '15%' });
  await settled();
  found.percent = 1;
  watch.look();
  await settled();
  expect(found.reads).toBe(1);
  await clock.advance(1_000);
  await settled();
  expect([found.reads, published.at(-1)]).toEqual([2, ['DiskPressure']]);
  await clock.advance(5_000);
  watch.look();
  watch.look();
  await settled();
  expect(found.reads).toBe(3);
  await clock.advance(9_999);
  await settled();
  expect(found.reads).toBe(3);
  await clock.advance(1);
  await settled();
  expect(found.reads).toBe(4);
  watch.stop();
});

test('without thresholds nothing is read', async () => {
  const { clock, published, found, watch } = watched({});
  await settled();
  await clock.advance(20_000);
  expect([published, found.reads]).toEqual([[[]], 0]);
  watch.stop();
});

test('the Node object has the conditions as soon as they change', async () => {
  const member = await Member.make();
  try {
    let memory = false;
    member.becomeReady();
    await member.start({ pressure: () => ({ memory, disk: false, pid: false }) });
    await member.server.waitFor(NODE, isReady);
    memory = true;
    member.changed();
    const node = await member.server.waitFor(NODE, (one) => conditionOf(one, 'MemoryPressure')?.['status'] === 'True');
    expect(conditionOf(node, 'MemoryPressure')).toMatchObject({ reason: 'KubeletHasInsufficientMemory' });
    await member.settle();
    expect(member.events.at(-1)).toBe('NodeHasInsufficientMemory');
  } finally {
    await member.close();
  }
});
