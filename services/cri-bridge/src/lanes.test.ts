import { describe, expect, test } from '@jest/globals';
import { settled } from '@kubus/ports/testing';
import * as fc from 'fast-check';
import { Lanes, Slots } from './lanes.ts';

/** An action that lasts until the test ends it. */
function gate() {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  return { promise, open: () => resolve(undefined), fail: () => reject(new Error('failed')) };
}

describe('lanes', () => {
  test('what is put into one lane runs one after another in order, also after a failure', async () => {
    const lanes = new Lanes();
    const log: string[] = [];
    const gates = [gate(), gate(), gate()] as const;
    const results = gates.map(({ promise }, index) =>
      lanes.run('a', async () => {
        log.push(`begin ${index}`);
        await promise;
        log.push(`end ${index}`);
        return index;
      }),
    );
    await settled();
    expect(log).toEqual(['begin 0']);
    gates[0].fail();
    await expect(results[0]).rejects.toThrow('failed');
    await settled();
    expect(log).toEqual(['begin 0', 'begin 1']);
    gates[2].open();
    await settled();
    expect(log).toEqual(['begin 0', 'begin 1']);
    gates[1].open();
    await expect(Promise.all(results.slice(1))).resolves.toEqual([1, 2]);
    expect(log).toEqual(['begin 0', 'begin 1', 'end 1', 'begin 2', 'end 2']);
    await expect(lanes.run('a', () => Promise.resolve('later'))).resolves.toBe('later');
  });

  test('lanes do not wait for each other', async () => {
    const lanes = new Lanes();
    const held = gate();
    const slow = lanes.run('a', () => held.promise);
    await expect(lanes.run('b', () => Promise.resolve('b'))).resolves.toBe('b');
    held.open();
    await slow;
  });
});

describe('slots', () => {
  test('never run more than their number at once, take turns in order, and are all used', async () => {
    const actions = fc.array(fc.boolean(), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        actions,
        fc.infiniteStream(fc.nat()),
        async (limit, all, picks) => {
          const slots = new Slots(limit);
          const running = new Map<number, ReturnType<typeof gate>>();
          const begun: number[] = [];
          const results = all.map((_, index) =>
            slots
              .run(() => {
                const held = gate();
                running.set(index, held);
                begun.push(index);
                return held.promise;
              })
              .catch(() => undefined),
          );
          for (let left = all.length; left > 0; left--) {
            await settled();
            expect(running.size).toBe(Math.min(limit, left));
            expect([slots.taken, slots.waiting]).toEqual([running.size, left - running.size]);
            const ids = [...running.keys()];
            const id = ids[(picks.next().value as number) % ids.length] ?? 0;
            const held = running.get(id);
            running.delete(id);
            if (all[id] === true) held?.open();
            else held?.fail();
          }
          await Promise.all(results);
          expect(begun).toEqual(all.map((_, index) => index));
          expect([slots.taken, slots.waiting]).toEqual([0, 0]);
        },
      ),
      { numRuns: 50 },
    );
  });
});
