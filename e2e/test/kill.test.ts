import { afterEach, expect, test } from '@jest/globals';
import { type TestNode, startNode } from '@kubus/harness';
import { recordFailure } from '../src/failure-record.ts';
import { type Kill, KillRun, phases, victims } from '../src/kill-run.ts';
import { leftoversOfPods } from '../src/leftovers.ts';

/** KUBUS_E2E_SEED: one or more seeds instead of the usual ones, such as `7` or `7,8,9`. */
const chosen = process.env['KUBUS_E2E_SEED'];
const seeds = (chosen ?? '1,2,3').split(',').map(Number);

/**
 * Every pod has to be in its right state this long after the last kill of a phase, in milliseconds. A container that was
 * ended and over whose next start containerd was killed waits for a back-off of 10 s.
 */
const SETTLED_MS = 20_000;
/** A kill counts as one during a command when it comes so shortly after it, in milliseconds. */
const AFTER_COMMAND_MS = 200;

const done: KillRun[] = [];
let node: TestNode | undefined;
afterEach(async () => {
  const started = node;
  node = undefined;
  await started?.stop();
});

test.each(seeds)('twenty pods outlive the kills of seed %i', async (seed) => {
  node = await startNode({ scale: { 'pod-workers': 2, prober: 2 } });
  const run = new KillRun(node, seed);
  try {
    await run.run();
    expect(await run.startFaults()).toEqual([]);
    expect(await leftoversOfPods(node)).toEqual([]);
    for (const [phase, ms] of run.settledAfter) expect([phase, Math.max(ms, SETTLED_MS)]).toEqual([phase, SETTLED_MS]);
  } catch (error) {
    const folder = await recordFailure(node, `kill-seed-${seed}`, accountOf(run));
    throw new Error(`seed ${seed} failed; its messages and logs are in ${folder}\n${accountOf(run)}`, { cause: error });
  }
  done.push(run);
  say(summaryOf(run));
});

test('there were enough kills of each process, and enough of them during commands', () => {
  if (chosen !== undefined) return;
  const kills = done.flatMap((run) =>
    run.kills.map((kill) => ({ ...kill, ms: run.commandBefore(kill)?.ms ?? Infinity })),
  );
  const duringCommands = kills.filter(({ ms }) => ms <= AFTER_COMMAND_MS);
  say(
    `all seeds: ${kills.length} kills, ${duringCommands.length} within ${AFTER_COMMAND_MS} ms after a command for a pod`,
  );
  expect(kills.length).toBeGreaterThanOrEqual(60);
  expect(duringCommands.length).toBeGreaterThanOrEqual(kills.length / 2);
  for (const victim of victims) {
    expect([victim, kills.filter((kill) => kill.victim === victim).length >= 8]).toEqual([victim, true]);
  }
});

function summaryOf(run: KillRun): string {
  const settled = phases.map((phase) => `${phase} ${((run.settledAfter.get(phase) ?? NaN) / 1000).toFixed(1)} s`);
  const during = run.kills.filter((kill) => (run.commandBefore(kill)?.ms ?? Infinity) <= AFTER_COMMAND_MS).length;
  return `seed ${run.seed}: ${run.kills.length} kills, ${during} of them during commands; settled after the last kill: ${settled.join(', ')}`;
}

/** Every kill in order: when, whom, and after which command. */
function accountOf(run: KillRun): string {
  const begin = run.kills[0]?.at ?? 0;
  const line = (kill: Kill) => {
    const before = run.commandBefore(kill);
    const { type = '', pod = '' } = before?.message.envelope ?? {};
    const after = before === undefined ? '' : `${before.ms.toFixed(0)} ms after ${type} for ${pod}`;
    const at = new Date(kill.at).toISOString().slice(11, -1);
    return `  ${at} ${((kill.at - begin) / 1000).toFixed(2).padStart(6)} s  ${kill.phase.padEnd(8)} ${kill.victim.padEnd(17)} ${after}`;
  };
  return [`seed ${run.seed}, kills in order:`, ...run.kills.map(line), summaryOf(run)].join('\n');
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
