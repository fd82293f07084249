import { silentLogger } from '@kubus/ports';
import { parentPort, workerData } from 'node:worker_threads';
import { runSchedule } from '../src/index.ts';

/** Seeds `first`, `first + step`, ... of `count` schedules. */
export interface ScheduleBatch {
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

// A thread of `shard.ts`: posts what went wrong in each failed schedule.
const { first, step, count } = workerData as ScheduleBatch;
for (let index = 0; index < count; index += 1) {
  const seed = first + index * step;
  const { violations, trace } = await runSchedule({ seed, logger: silentLogger });
  if (violations.length === 0) continue;
  const rules = violations.map(({ rule, detail }) => `${rule}: ${detail}`);
  parentPort?.postMessage(
    [`seed ${seed} (pnpm --filter @kubus/simulation replay ${seed})`, ...rules, ...trace].join('\n  '),
  );
}
