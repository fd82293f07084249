import { expect, test } from '@jest/globals';
import { checkout, makeTestFolder, removeTestFolder, runKubus, sweepTestFolders } from '@kubus/harness';
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
const DELAY_MS = 500;

/** Two dozen pods one after the other, each with a restart, on a machine that does other things too. */
const LIMIT_MS = 1_500_000;

/** Nodes of experiments that are still there. */
async function nodesIn(folder: string): Promise<string[]> {
  return (await readdir(join(folder, 'lib')).catch(() => [])).filter((name) => name.startsWith('experiment-'));
}

/** Runs `kubus experiment run`. Whatever happens, no node of it stays. */
async function runExperiment(folder: string, file: string): Promise<{ code: number; stdout: string; stderr: string }> {
  try {
    return await runKubus(folder, ['experiment', 'run', file, '--output', join(folder, 'report')]).outcome;
  } finally {
    for (const node of await nodesIn(folder)) await runKubus(folder, ['--node', node, 'down']).outcome;
  }
}

test(
  'runtime events that come late make restarts late by as much, and starts not',
  async () => {
    await sweepTestFolders();
    const folder = await makeTestFolder();
    try {
      const example = join(checkout, 'examples/experiments/delayed-runtime-events.yaml');
      const experiment = parse(await readFile(example, 'utf8')) as { workload: { pods: object[] } };
      const file = join(folder, 'experiment.yaml');
      const pods = experiment.workload.pods.map((group) => ({ ...group, count: PODS }));
      const workload = { ...experiment.workload, pods, within: '300s' };
      await writeFile(file, stringify({ ...experiment, repetitions: REPETITIONS, workload }));
      const { code, stdout, stderr } = await runExperiment(folder, file);
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
      console.log(stdout);
      // The effect: all of the delay in the restarts, and nothing like it in the starts.
      expect(restart.medianDifference.estimate).toBeGreaterThan(DELAY_MS * 0.8);
      expect(restart.medianDifference.low).toBeGreaterThan(start.medianDifference.estimate);
      expect(start.medianDifference.estimate).toBeLessThan(restart.medianDifference.estimate / 2);
    } finally {
      await removeTestFolder(folder);
    }
  },
  LIMIT_MS,
);

test('an experiment that is wrong is refused with file and field before anything runs', async () => {
  const folder = await makeTestFolder();
  try {
    const file = join(folder, 'wrong.yaml');
    await writeFile(file, 'name: wrong\nfaults:\n  - delay: runtime.>\n    by: soon\nworkload: {pods: []}\n');
    const { code, stdout, stderr } = await runExperiment(folder, file);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`${file}: faults[0].by: "soon" is no duration`);
    expect(stderr).toContain(`${file}: workload.pods: `);
  } finally {
    await removeTestFolder(folder);
  }
});
