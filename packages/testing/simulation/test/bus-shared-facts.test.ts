import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { calm } from '../src/index.ts';
import { color, self, world } from './bus-fixture.ts';

const KEYS = ['a', 'b', 'c'];

type Action =
  'crash' | 'restart' | 'glitch' | { put: string; by: number } | { move: string; late: boolean } | { wait: number };

test('values of an earlier owner of a key are ignored by all readers, also late ones', async () => {
  const w = world();
  const [one, two] = [w.join('config-sources', 5, 0), w.join('config-sources', 4, 1)];
  const first = one.bus.owner(color);
  const second = two.bus.owner(color);
  for (const { bus } of [one, two]) bus.announce(self);
  const early = w.join('pod-workers').bus.reader(color);
  first.claim('a', 1);
  first.put('a', 'red');
  await w.quiet();
  // The second one owns it now; the first one does not know yet.
  second.claim('a', 2);
  second.put('a', 'blue');
  first.put('a', 'late');
  await w.quiet();
  expect(early.get('a')?.value).toBe('blue');
  const late = w.join('pod-workers', 2).bus.reader(color);
  await w.quiet();
  expect(late.get('a')?.value).toBe('blue');
});

/** The mark of the new owner is there first, then that of the old one without the key, and only then the new value. */
const broughtByMarks: Action[] = [
  { move: 'a', late: false },
  { wait: 28 },
  { move: 'a', late: false },
  { move: 'a', late: false },
  'restart',
  { put: 'c', by: 0 },
  { move: 'c', late: false },
  'crash',
];

test('readers end with the last value of each key’s last owner under any moves, losses and delays', async () => {
  const action = fc.oneof(
    { weight: 5, arbitrary: fc.record({ put: fc.constantFrom(...KEYS), by: fc.nat({ max: 1 }) }) },
    { weight: 2, arbitrary: fc.record({ move: fc.constantFrom(...KEYS), late: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constantFrom('crash' as const, 'restart' as const, 'glitch' as const) },
    { weight: 2, arbitrary: fc.record({ wait: fc.integer({ min: 0, max: 50 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(action, { maxLength: 30 }), async (seed, actions) => {
      const w = world(seed);
      w.broker.weather = { ...calm(), fact: () => w.random.between(0, 30) };
      let epoch = 0;
      const start = (slot: number) => {
        const { bus, connection } = w.join('config-sources', ++epoch, slot);
        const owner = bus.owner(color);
        bus.announce(self);
        owner.complete();
        return { owner, connection, keys: new Set<string>() };
      };
      const members = [start(0), start(1)];
      const reader = w.join('pod-workers').bus.reader(color);
      const expected = new Map<string, string>();
      const owners = new Map<string, number>();
      let term = 0;
      let count = 0;
      const claim = (key: string, slot: number) => {
        owners.set(key, slot);
        members[slot]?.owner.claim(key, ++term);
        members[slot]?.keys.add(key);
        members[slot]?.owner.put(key, `${slot} ${++count}`);
        expected.set(key, `${slot} ${count}`);
      };
      const release = (key: string, slot: number) => {
        members[slot]?.keys.delete(key);
        members[slot]?.owner.release(key);
      };
      for (const key of KEYS) claim(key, 0);
      for (const step of actions) {
        if (step === 'crash') {
          w.broker.crash();
          await w.quiet(20);
          w.broker.start();
        } else if (step === 'glitch') {
          for (const { connection } of members) w.broker.glitch(connection);
        } else if (step === 'restart') {
          members[1]?.connection.kill();
          members[1] = start(1);
          for (const [key, slot] of owners) if (slot === 1) claim(key, 1);
        } else if ('put' in step) {
          // An instance that does not know that the key has moved keeps publishing.
          if (members[step.by]?.keys.has(step.put) !== true) continue;
          members[step.by]?.owner.put(step.put, `${step.by} ${++count}`);
          if (owners.get(step.put) === step.by) expected.set(step.put, `${step.by} ${count}`);
        } else if ('move' in step) {
          const from = owners.get(step.move) ?? 0;
          if (!step.late) release(step.move, from);
          claim(step.move, 1 - from);
        } else await w.quiet(step.wait);
      }
      for (const [slot, { keys }] of members.entries()) {
        for (const key of keys) if (owners.get(key) !== slot) release(key, slot);
      }
      await w.quiet(100_000);
      const late = w.join('pod-workers', 2).bus.reader(color);
      await w.quiet(20_000);
      for (const one of [reader, late]) {
        const values = KEYS.map((key) => one.get(key)?.value);
        expect(values).toEqual(KEYS.map((key) => expected.get(key)));
      }
    }),
    { numRuns: 200, examples: [[993207891, broughtByMarks]] },
  );
});
