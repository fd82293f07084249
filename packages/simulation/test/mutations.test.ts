import { describe, expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { mutations, runSchedule } from '../src/index.ts';

/** Schedules that a mutation may need until it is found. */
const LIMIT = 10_000;

describe('the simulation notices what is taken out', () => {
  test.each(Object.entries(mutations))(
    '%s',
    async (_name, mutation) => {
      let found = 0;
      for (let seed = 1; found === 0 && seed <= LIMIT; seed++) {
        const { violations } = await runSchedule({
          seed,
          logger: silentLogger,
          mutations: mutation,
          rough: seed % 2 === 1,
        });
        if (violations.length > 0) found = seed;
      }
      expect(found).toBeGreaterThan(0);
    },
    900_000,
  );
});

test('a seed gives the same run every time, message by message', async () => {
  for (const seed of [3, 61, 448]) {
    const first = await runSchedule({ seed, logger: silentLogger, traceMessages: true });
    const second = await runSchedule({ seed, logger: silentLogger, traceMessages: true });
    expect(first.trace.length).toBeGreaterThan(20);
    expect(second.trace).toEqual(first.trace);
  }
});
