import { expect, test } from '@jest/globals';
import { checkout, makeTestFolder, poll, removeTestFolder, runKubus, sweepTestFolders } from '@kubus/harness';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

interface Difference {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

interface Measured {
  readonly measure: string;
  readonly baseline: { readonly count: number };
  readonly faults: { readonly count: number };
  readonly medianDifference: Difference;
}

interface Report {
  readonly measures: readonly Measured[];
  readonly runs: readonly { readonly arm: string; readonly late: readonly string[] }[];
}

const REPETITIONS = 4;
const PODS = 3;
/** More than in the example, so that nothing else that the machine does is as large. */
const DELAY_MS = 2_000;

/** Two dozen pods one after the other, each with a restart, on a machine that does other things too. */
const LIMIT_MS = 1_500_000;

/** Nodes of experiments that are still there. */
async function nodesIn(folder: string): Promise<string[]> {
  return (await readdir(join(folder, 'lib')).catch(() => [])).filter((name) => name.startsWith('experiment-'));
}

/** Starts `kubus experiment run`. */
const startExperiment = (folder: string, file: string) =>
  runKubus(folder, ['experiment', 'run', file, '--output', join(folder, 'report')]);

/** Removes the folder of a test. Whatever has happened, no node stays. */
async function clean(folder: string): Promise<void> {
  for (const node of await nodesIn(folder)) await runKubus(folder, ['--node', node, 'down']).outcome;
  await removeTestFolder(folder);
}

test(
  'runtime events that come late make restarts late by as much, and starts not',
  async () => {
    await sweepTestFolders();
    const folder = await makeTestFolder();
    try {
      const example = join(checkout, 'examples/experiments/delayed-runtime-events.yaml');
      const experiment = parse(await readFile(example, 'utf8')) as { workload: { pods: object[] }; faults: object[] };
      const file = join(folder, 'experiment.yaml');
      const pods = experiment.workload.pods.map((group) => ({ ...group, count: PODS }));
      const workload = { ...experiment.workload, pods, within: '300s' };
      const faults = experiment.faults.map((fault) => ({ ...fault, by: `${DELAY_MS}ms` }));
      await writeFile(file, stringify({ ...experiment, repetitions: REPETITIONS, workload, faults }));
      const { code, stdout, stderr } = await startExperiment(folder, file).outcome;
      expect([code, stderr]).toEqual([0, expect.stringContaining(`run ${2 * REPETITIONS} of ${2 * REPETITIONS}`)]);
      expect(await nodesIn(folder)).toEqual([]);

      const report = JSON.parse(await readFile(join(folder, 'report/report.json'), 'utf8')) as Report;
      expect(stdout.trim()).toBe((await readFile(join(folder, 'report/report.md'), 'utf8')).trim());
      expect(report.runs.flatMap(({ late }) => late)).toEqual([]);
      const measured = (name: string): Measured => {
        const found = report.measures.find(({ measure }) => measure === name);
        if (found === undefined) throw new Error(`${name} was not measured`);
        return found;
      };
      const [start, restart] = [measured('start'), measured('restart')];
      for (const { baseline, faults } of [start, restart]) {
        expect([baseline.count, faults.count]).toEqual([REPETITIONS * PODS, REPETITIONS * PODS]);
      }
      try {
        // The effect: the delay is in the restarts, and nothing like it in the starts.
        expect(restart.medianDifference.estimate).toBeGreaterThan(DELAY_MS * 0.8);
        expect(restart.medianDifference.estimate).toBeLessThan(DELAY_MS * 2);
        expect(start.medianDifference.estimate).toBeLessThan(DELAY_MS / 2);
        expect(restart.medianDifference.low).toBeGreaterThan(start.medianDifference.high);
      } catch (error) {
        throw new Error(`the effect is not in the report:\n${stdout}`, { cause: error });
      }
    } finally {
      await clean(folder);
    }
  },
  LIMIT_MS,
);

test('an experiment that is wrong is refused with file and field before anything runs', async () => {
  const folder = await makeTestFolder();
  try {
    const file = join(folder, 'wrong.yaml');
    await writeFile(file, 'name: wrong\nfaults:\n  - delay: runtime.>\n    by: soon\nworkload: {pods: []}\n');
    const { code, stdout, stderr } = await startExperiment(folder, file).outcome;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`${file}: faults[0].by: "soon" is no duration`);
    expect(stderr).toContain(`${file}: workload.pods: `);
  } finally {
    await clean(folder);
  }
});

test('an experiment that is ended takes its node down', async () => {
  const folder = await makeTestFolder();
  try {
    const running = startExperiment(folder, join(checkout, 'examples/experiments/delayed-runtime-events.yaml'));
    await poll('the first run', () => Promise.resolve(/run 1 of 10/.test(running.written.stderr) ? true : undefined));
    expect(await nodesIn(folder)).toHaveLength(1);
    expect((await running.end()).code).toBe(1);
    expect(await nodesIn(folder)).toEqual([]);
  } finally {
    await clean(folder);
  }
});
