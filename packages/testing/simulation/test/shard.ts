import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import type { ScheduleBatch } from './schedule-batch.ts';

const soak = process.env['KUBUS_TEST_SOAK'] === '1';

/** Over all shards. */
const SCHEDULES = soak ? 10_000 : 240;
const SHARDS = 4;
/**
 * In one thread: a killed process of the simulation waits forever, and what it waits for keeps its schedule in memory (3 MB) until the
 * thread ends.
 */
const BATCH = 250;
const MOST_FAILURES = 3;

/** The soak always runs the same seeds, every other run starts somewhere else. */
const FIRST_SEED = soak ? 1 : Number(process.env['KUBUS_TEST_SEED'] ?? randomInt(2 ** 31));

/** Runs one shard's seeds. A failing seed is printed with its violations; `replay SEED` shows everything about it. */
export function testShard(shard: number): void {
  test(`${SCHEDULES / SHARDS} schedules from seed ${FIRST_SEED} on keep all invariants (shard ${shard})`, async () => {
    const failures: string[] = [];
    const own = SCHEDULES / SHARDS;
    for (let done = 0; done < own && failures.length < MOST_FAILURES; done += BATCH) {
      const first = FIRST_SEED + shard + done * SHARDS;
      failures.push(...(await failuresOf({ first, step: SHARDS, count: Math.min(BATCH, own - done) })));
    }
    expect(failures.slice(0, MOST_FAILURES).join('\n\n')).toBe('');
  });
}

/** Rejects with an error that a schedule throws. */
async function failuresOf(batch: ScheduleBatch): Promise<string[]> {
  const failures: string[] = [];
  const worker = new Worker(new URL('./schedule-batch.ts', import.meta.url), { workerData: batch });
  worker.on('message', (failure: string) => failures.push(failure));
  const [code] = (await once(worker, 'exit')) as [number];
  if (code !== 0) throw new Error(`the thread of the schedules from seed ${batch.first} on ended with ${code}`);
  return failures;
}
