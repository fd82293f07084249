import { expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { runSchedule } from '../src/index.ts';

/** Schedules of a CI run, over all shards. */
const SCHEDULES = 10_000;
const SHARDS = 4;

/**
 * Seeds that show a fault which is known and not mended yet, and the rule that it breaks. The fault: the record of a pod
 * that is over stays when the last instance that had it is scaled away while the broker and the sync loop are down; the
 * next start of a worker instance finds and ends it. A seed that passes has to be taken from here.
 */
const KNOWN: ReadonlyMap<number, string> = new Map([[1509, 'no record of a pod that is gone']]);

/** Runs one shard's seeds. A failing seed is printed with what went wrong; `replay SEED` shows everything about it. */
export function testShard(shard: number): void {
  test(`${SCHEDULES / SHARDS} schedules end as they should (shard ${shard})`, async () => {
    const failures: string[] = [];
    for (let seed = 1 + shard; seed <= SCHEDULES; seed += SHARDS) {
      const { violations, trace } = await runSchedule({ seed, logger: silentLogger });
      if (violations.every(({ rule }) => rule === KNOWN.get(seed)) && violations.length > 0 === KNOWN.has(seed))
        continue;
      const rules = violations.map(({ rule, detail }) => `${rule}: ${detail}`);
      failures.push([`seed ${seed} (pnpm --filter @kubus/simulation replay ${seed})`, ...rules, ...trace].join('\n  '));
      if (failures.length === 3) break;
    }
    expect(failures.join('\n\n')).toBe('');
  }, 900_000);
}
