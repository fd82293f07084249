import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Observations, type Threshold, assess, noPressure, parseThresholds } from '../src/index.ts';
import { comesBack } from './reference-passes.ts';

const MI = 1024 * 1024;
const thresholds = parseThresholds(
  {
    evictionHard: { 'nodefs.available': '10%', 'memory.available': '100Mi', 'pid.available': '50' },
    evictionSoft: { 'memory.available': '200Mi' },
    evictionSoftGracePeriod: { 'memory.available': '30s' },
    evictionMinimumReclaim: { 'memory.available': '50Mi' },
  },
  { enforcesPods: false },
);

/** Passes of the loop: how much is left, in MiB of memory, percent of the disk and processes. */
function passes(transitionMs: number) {
  let state = noPressure;
  return (seconds: number, left: { memory?: number; disk?: number; pids?: number }) => {
    const { memory = 1000, disk = 50, pids = 1000 } = left;
    const atMs = seconds * 1000;
    const observations: Observations = {
      'memory.available': { available: memory * MI, capacity: 1000 * MI, atMs },
      'nodefs.available': { available: disk, capacity: 100, atMs },
      'pid.available': { available: pids, capacity: 1000, atMs },
    };
    const result = assess(state, { thresholds, observations, transitionMs, now: atMs });
    state = result.state;
    const name = ({ signal, graceMs }: Threshold) => `${graceMs === 0 ? 'hard' : 'soft'} ${signal}`;
    return [result.conditions.join(' '), result.due.map(name).join(', ')];
  };
}

test('a hard threshold acts at once, and its condition lasts for the transition period after it', () => {
  const pass = passes(300_000);
  expect(pass(0, {})).toEqual(['', '']);
  expect(pass(10, { disk: 10 })).toEqual(['', '']);
  expect(pass(20, { disk: 9 })).toEqual(['DiskPressure', 'hard nodefs.available']);
  expect(pass(30, { disk: 50 })).toEqual(['DiskPressure', '']);
  expect(pass(319, { disk: 50 })).toEqual(['DiskPressure', '']);
  expect(pass(320, { disk: 50 })).toEqual(['', '']);
});

test('pressure that comes back within the transition period starts that again', () => {
  const pass = passes(60_000);
  pass(0, { pids: 49 });
  expect(pass(50, { pids: 49 })).toEqual(['PIDPressure', 'hard pid.available']);
  expect(pass(109, {})).toEqual(['PIDPressure', '']);
  expect(pass(110, {})).toEqual(['', '']);
});

test('the passes of the reference, in which pressure goes and comes back within the transition period', () => {
  const ofPods = parseThresholds(
    {
      evictionHard: {},
      evictionSoft: { 'allocatableMemory.available': '400Mi' },
      evictionSoftGracePeriod: { 'allocatableMemory.available': '10m' },
      evictionMinimumReclaim: {},
    },
    { enforcesPods: true },
  );
  let state = noPressure;
  for (const { conditions, ...left } of comesBack) {
    const observed = { ...left, capacity: 700 * MI };
    const observations: Observations = { 'allocatableMemory.available': observed };
    const input = { thresholds: ofPods, observations, transitionMs: 40_000, now: observed.atMs };
    const result = assess(state, input);
    expect([observed.atMs, result.conditions]).toEqual([observed.atMs, conditions]);
    state = result.state;
  }
});

test('a soft threshold acts after its grace period, which starts again when the signal has recovered', () => {
  const pass = passes(1000);
  expect(pass(0, { memory: 199 })).toEqual(['MemoryPressure', '']);
  expect(pass(29, { memory: 199 })).toEqual(['MemoryPressure', '']);
  expect(pass(30, { memory: 199 })).toEqual(['MemoryPressure', 'soft memory.available']);
  expect(pass(40, { memory: 250 })).toEqual(['', '']);
  expect(pass(50, { memory: 199 })).toEqual(['MemoryPressure', '']);
});

test('a threshold that has acted is met until its minimum is reclaimed, too', () => {
  const pass = passes(1000);
  expect(pass(0, { memory: 99 })).toEqual(['MemoryPressure', 'hard memory.available']);
  expect(pass(10, { memory: 149 })[1]).toBe('hard memory.available');
  expect(pass(20, { memory: 150 })[1]).toBe('');
});

test('memory comes before everything else', () => {
  const pass = passes(1000);
  expect(pass(0, { memory: 99, disk: 1, pids: 1 })[1]).toBe(
    'hard memory.available, hard nodefs.available, hard pid.available',
  );
});

test('a signal that could not be read, or not again, causes nothing', () => {
  const seen: Observations = { 'memory.available': { available: 1, capacity: 1000 * MI, atMs: 5 } };
  const input = { thresholds, transitionMs: 1000, now: 10 };
  const first = assess(noPressure, { ...input, observations: seen });
  expect(first.due).toHaveLength(1);
  expect(assess(first.state, { ...input, observations: seen }).due).toEqual([]);
  expect(assess(noPressure, { ...input, observations: {} })).toMatchObject({ conditions: [], due: [] });
});

test('what is due sets a condition, and no condition outlives its reason by more than the transition period', () => {
  const step = fc.record({ seconds: fc.integer({ min: 1, max: 100 }), memory: fc.integer({ min: 0, max: 400 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const pass = passes(60_000);
      let [now, lastLow] = [0, -Infinity];
      for (const { seconds, memory } of steps) {
        now += seconds;
        const [conditions, due] = pass(now, { memory });
        if (due !== '' || memory < 200) lastLow = now;
        expect(conditions).toBe(now - lastLow < 60 ? 'MemoryPressure' : '');
      }
    }),
  );
});
