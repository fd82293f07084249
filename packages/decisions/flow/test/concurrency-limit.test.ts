import { expect, test } from '@jest/globals';
import { settled } from '@kubus/ports/testing';
import fc from 'fast-check';
import { ConcurrencyLimit } from '../src/index.ts';

test('a concurrency limit runs at most the limit of actions at a time, in the order of the calls, and forgets none', async () => {
  const limit = fc.integer({ min: 1, max: 4 });
  await fc.assert(
    fc.asyncProperty(
      limit,
      fc.array(fc.boolean(), { maxLength: 20 }),
      fc.scheduler(),
      async (most, alone, scheduler) => {
        const actions = new ConcurrencyLimit(most);
        const started: number[] = [];
        let running = 0;
        let aloneRunning = false;
        const work = (id: number, isAlone: boolean) => async () => {
          started.push(id);
          running += isAlone ? most : 1;
          expect(running).toBeLessThanOrEqual(most);
          expect(aloneRunning).toBe(false);
          aloneRunning = isAlone;
          await scheduler.schedule(Promise.resolve());
          aloneRunning = false;
          running -= isAlone ? most : 1;
        };
        // Only one action that runs alone at a time, as callers must ensure.
        let before: Promise<unknown> = Promise.resolve();
        const all = alone.map((isAlone, id) => {
          if (!isAlone) {
            return actions.run(work(id, false));
          }
          before = before.then(() => actions.runAlone(work(id, true)));
          return before;
        });
        await scheduler.waitFor(Promise.all(all));
        const shared = started.filter((id) => !alone[id]);
        expect(shared).toEqual([...shared].sort((a, b) => a - b));
        expect(started).toHaveLength(alone.length);
        expect(actions.load).toEqual({ running: 0, waiting: 0 });
      },
    ),
  );
});

test('a concurrency limit releases the permit once, even when the action fails', async () => {
  const actions = new ConcurrencyLimit(1);
  await expect(actions.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const release = await actions.take();
  release();
  release();
  const again = await actions.take();
  expect(actions.load).toEqual({ running: 1, waiting: 0 });
  again();
});

test('a concurrency limit starts as many actions as the limit allows at any time, in order, even after failures', async () => {
  const actionsThatSucceed = fc.array(fc.boolean(), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      actionsThatSucceed,
      fc.infiniteStream(fc.nat()),
      async (limit, all, picks) => {
        const concurrency = new ConcurrencyLimit(limit);
        const running = new Map<number, ReturnType<typeof Promise.withResolvers<undefined>>>();
        const begun: number[] = [];
        const results = all.map((_, index) =>
          concurrency
            .run(() => {
              const held = Promise.withResolvers<undefined>();
              running.set(index, held);
              begun.push(index);
              return held.promise;
            })
            .catch(() => undefined),
        );
        for (let left = all.length; left > 0; left--) {
          await settled();
          expect(running.size).toBe(Math.min(limit, left));
          expect(concurrency.load).toEqual({ running: running.size, waiting: left - running.size });
          const ids = [...running.keys()];
          const id = ids[(picks.next().value as number) % ids.length] ?? 0;
          const held = running.get(id);
          running.delete(id);
          if (all[id] === true) held?.resolve(undefined);
          else held?.reject(new Error('failed'));
        }
        await Promise.all(results);
        expect(begun).toEqual(all.map((_, index) => index));
        expect(concurrency.load).toEqual({ running: 0, waiting: 0 });
      },
    ),
    { numRuns: 50 },
  );
});
