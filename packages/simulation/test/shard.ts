import { expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { runSchedule } from '../src/index.ts';

/** Schedules of a CI run, over all shards. */
const SCHEDULES = 10_000;
const SHARDS = 4;

/** Runs one shard's seeds. A failing seed is printed with what went wrong; `replay SEED` shows everything about it. */
export function testShard(shard: number): void {
  test(`${SCHEDULES / SHARDS} schedules end as they should (shard ${shard})`, async () => {
    const failures: string[] = [];
    for (let seed = 1 + shard; seed <= SCHEDULES; seed += SHARDS) {
      const { violations, trace } = await runSchedule({ seed, logger: silentLogger });
      if (violations.length === 0) continue;
      const rules = violations.map(({ rule, detail }) => `${rule}: ${detail}`);
      failures.push([`seed ${seed} (pnpm --filter @kubus/simulation replay ${seed})`, ...rules, ...trace].join('\n  '));
      if (failures.length === 3) break;
    }
    expect(failures.join('\n\n')).toBe('');
  }, 900_000);
}
