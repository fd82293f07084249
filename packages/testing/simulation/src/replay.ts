import { runSchedule } from './schedule.ts';
import { silentLogger } from '@kubus/ports';

/**
 * Runs the schedules of the seeds given as arguments again and prints everything that happened in them:
 *
 *     pnpm --filter @kubus/simulation replay 4711
 */
const seeds = process.argv.slice(2).map(Number);
if (seeds.length === 0 || seeds.some((seed) => !Number.isSafeInteger(seed))) {
  console.error('usage: replay SEED [SEED ...]');
  process.exit(2);
}
for (const seed of seeds) {
  const result = await runSchedule({ seed, logger: silentLogger, traceMessages: true });
  console.log(`seed ${seed}\n${result.trace.join('\n')}`);
  for (const { rule, detail } of result.violations) console.log(`VIOLATED: ${rule}: ${detail}`);
  console.log(
    `${result.violations.length} violations, ${result.steps} steps, ${result.elapsedMs.toFixed(0)} virtual ms`,
  );
  if (result.violations.length > 0) process.exitCode = 1;
}
