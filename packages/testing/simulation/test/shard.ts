import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { runSchedule } from '../src/index.ts';

const soak = process.env['KUBUS_TEST_SOAK'] === '1';

/** Over all shards. */
const SCHEDULES = soak ? 10_000 : 240;
const SHARDS = 4;

/** The soak always runs the same seeds, every other run starts somewhere else. */
const FIRST_SEED = soak ? 1 : Number(process.env['KUBUS_TEST_SEED'] ?? randomInt(2 ** 31));

/** Runs one shard's seeds. A failing seed is printed with its violations; `replay SEED` shows everything about it. */
export function testShard(shard: number): void {
  test(`${SCHEDULES / SHARDS} schedules from seed ${FIRST_SEED} on keep all invariants (shard ${shard})`, async () => {
    const failures: string[] = [];
    for (let offset = shard; offset < SCHEDULES; offset += SHARDS) {
      const seed = FIRST_SEED + offset;
      const { violations, trace } = await runSchedule({ seed, logger: silentLogger });
      if (violations.length === 0) continue;
      const rules = violations.map(({ rule, detail }) => `${rule}: ${detail}`);
      failures.push([`seed ${seed} (pnpm --filter @kubus/simulation replay ${seed})`, ...rules, ...trace].join('\n  '));
      if (failures.length === 3) break;
    }
    expect(failures.join('\n\n')).toBe('');
  });
}
