import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Turns } from '../src/turns.ts';

test('never more than the limit at once, in the order of asking, and nobody is forgotten', async () => {
  const limit = fc.integer({ min: 1, max: 4 });
  await fc.assert(
    fc.asyncProperty(
      limit,
      fc.array(fc.boolean(), { maxLength: 20 }),
      fc.scheduler(),
      async (most, alone, scheduler) => {
        const turns = new Turns(most);
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
        // One that runs alone at a time, as the callers have to see to.
        let before: Promise<unknown> = Promise.resolve();
        const all = alone.map((isAlone, id) => {
          if (!isAlone) {
            return turns.run(work(id, false));
          }
          before = before.then(() => turns.runAlone(work(id, true)));
          return before;
        });
        await scheduler.waitFor(Promise.all(all));
        const shared = started.filter((id) => !alone[id]);
        expect(shared).toEqual([...shared].sort((a, b) => a - b));
        expect(started).toHaveLength(alone.length);
        expect(turns.load).toEqual({ running: 0, waiting: 0 });
      },
    ),
  );
});

test('a turn is given back once, also when the work fails', async () => {
  const turns = new Turns(1);
  await expect(turns.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const release = await turns.take();
  release();
  release();
  const again = await turns.take();
  expect(turns.load).toEqual({ running: 1, waiting: 0 });
  again();
});
