import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { type TestNode, checkout, startNode, testSeeds } from '@kubus/harness';
import { recordFailure } from '../src/failure-record.ts';
import { type Kill, KillRun, hostedVictims, phases, victims } from '../src/kill-run.ts';
import { leftoversOfPods } from '../src/leftovers.ts';
import { replayAlone, saveRecord } from '../src/replayed-lives.ts';

const seeds = testSeeds('kill', [1, 2, 3]);

/** A kill counts as one during a command if it follows the command within this time, in milliseconds. */
const AFTER_COMMAND_MS = 200;

const done: KillRun[] = [];
let node: TestNode | undefined;
afterEach(async () => {
  const started = node;
  node = undefined;
  await started?.stop();
});

/** Pods are not synced again after a minute: that would hide a lost message, for which a pod waits for ever now. */
const up = ['--config', join(checkout, 'e2e/data/no-periodic-sync.yaml')];
const forms = {
  separate: { victims, options: { up, journal: true, scale: { 'pod-workers': 2, prober: 2 } } },
  hosted: { victims: hostedVictims, options: { up, placement: 'hosted' } },
} as const;
const runs = seeds.flatMap((seed) => (['separate', 'hosted'] as const).map((form) => [seed, form] as const));

test.each(runs)(
  'twenty pods survive the kills of seed %i on a %s node, and a replay of a journal publishes the same messages',
  async (seed, form) => {
    const { options } = forms[form];
    node = await startNode(options);
    const run = new KillRun(node, seed, forms[form].victims);
    try {
      await run.run();
      expect(await run.startFaults()).toEqual([]);
      expect(await leftoversOfPods(node)).toEqual([]);
      // Messages lost with NATS before they are stored may leave a gap, but no difference.
      if (form === 'separate') {
        const reports = await replayAlone(node, await saveRecord(node));
        expect(reports.reduce((sum, { equal }) => sum + equal, 0)).toBeGreaterThan(1_000);
      }
    } catch (error) {
      const folder = await recordFailure(node, `kill-seed-${seed}-${form}`, accountOf(run));
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(
        `seed ${seed} (${form}) failed: ${why}\nIts messages and logs are in ${folder}\n${accountOf(run)}`,
        {
          cause: error,
        },
      );
    }
    if (form === 'separate') done.push(run);
    say(`${form}: ${summaryOf(run)}`);
  },
);

test('each process was killed often enough, and often enough during commands', () => {
  const kills = done.flatMap((run) =>
    run.kills.map((kill) => ({ ...kill, ms: run.commandBefore(kill)?.ms ?? Infinity })),
  );
  const duringCommands = kills.filter(({ ms }) => ms <= AFTER_COMMAND_MS);
  say(
    `all seeds: ${kills.length} kills, ${duringCommands.length} within ${AFTER_COMMAND_MS} ms after a command for a pod`,
  );
  expect(kills.length).toBeGreaterThanOrEqual(20 * seeds.length);
  // Of the eight of eleven that are planned so, on a busy machine many come later.
  expect(duringCommands.length).toBeGreaterThanOrEqual(kills.length / 3);
  for (const victim of victims) {
    const enough = kills.filter((kill) => kill.victim === victim).length >= (8 / 3) * seeds.length;
    expect([victim, enough]).toEqual([victim, true]);
  }
});

function summaryOf(run: KillRun): string {
  const settled = phases.map((phase) => `${phase} ${((run.settledAfter.get(phase) ?? NaN) / 1000).toFixed(1)} s`);
  const during = run.kills.filter((kill) => (run.commandBefore(kill)?.ms ?? Infinity) <= AFTER_COMMAND_MS).length;
  return `seed ${run.seed}: ${run.kills.length} kills, ${during} of them during commands; settled after the last kill: ${settled.join(', ')}`;
}

/** Every kill in order: its time, its process, and the preceding command. */
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
