import { expect, test } from '@jest/globals';
import { checkout, makeTestFolder, poll, removeTestFolder, runKubus, sweepTestFolders, isSoak } from '@kubus/harness';
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
  readonly arms: readonly { readonly arm: string; readonly count: number; readonly mean: number }[];
  readonly medianDifference: Difference;
}

interface Report {
  readonly measures: readonly Measured[];
  readonly runs: readonly {
    readonly arm: string;
    readonly late: readonly string[];
    readonly values: Readonly<Record<string, readonly number[]>>;
  }[];
}

/** As for users. */
const examples = join(checkout, 'examples/experiments');
const example = join(examples, 'delayed-runtime-events.yaml');
const REPETITIONS = isSoak ? 5 : 3;
const PODS = 3;
/** Three times the example's: a busy machine's noise does not hide it in so few repetitions. */
const DELAY_MS = 1_500;

/** Ends hanging tests; on a busy machine everything takes longer. */
const LIMIT_MS = 1_500_000;

/** Nodes of experiments that still exist. */
async function nodesIn(folder: string): Promise<string[]> {
  return (await readdir(join(folder, 'lib')).catch(() => [])).filter((name) => name.startsWith('experiment-'));
}

/** Starts `kubus experiment run`. */
const startExperiment = (folder: string, file: string) =>
  runKubus(folder, ['experiment', 'run', file, '--output', join(folder, 'report')]);

/** Removes the folder of a test, and its node in any case. */
async function clean(folder: string): Promise<void> {
  for (const node of await nodesIn(folder)) await runKubus(folder, ['--node', node, 'down']).outcome;
  await removeTestFolder(folder);
}

async function readReport(folder: string): Promise<Report> {
  return JSON.parse(await readFile(join(folder, 'report/report.json'), 'utf8')) as Report;
}

/** Runs an experiment with this number of repetitions, and returns its measurements. */
async function measure(
  folder: string,
  file: string,
  repetitions: number,
): Promise<{ start: Measured; restart: Measured }> {
  const runs = 2 * repetitions;
  const { code, stdout, stderr } = await startExperiment(folder, file).outcome;
  expect([code, stderr]).toEqual([0, expect.stringContaining(`run ${runs} of ${runs}`)]);
  expect(await nodesIn(folder)).toEqual([]);

  const report = await readReport(folder);
  expect(stdout.trim()).toBe((await readFile(join(folder, 'report/report.md'), 'utf8')).trim());
  process.stderr.write(stdout);
  expect(report.runs.flatMap(({ late }) => late)).toEqual([]);
  const measured = (name: string): Measured => {
    const found = report.measures.find(({ measure: one }) => one === name);
    if (found === undefined) throw new Error(`${name} was not measured`);
    return found;
  };
  const [start, restart] = [measured('start'), measured('restart')];
  for (const { arms } of [start, restart]) {
    expect(arms.map(({ arm, count }) => [arm, count])).toEqual([
      ['baseline', repetitions * PODS],
      ['faults', repetitions * PODS],
    ]);
  }
  return { start, restart };
}

/** The effect, decided by the report's own intervals: restarts are later, and by more than starts can be. */
function isDecided({ start, restart }: { start: Measured; restart: Measured }): boolean {
  const { low } = restart.medianDifference;
  return low > 0 && low > start.medianDifference.high;
}

/**
 * Whether a difference is compatible with this value, within a tenth of the delay: the interval, extended by its width on both
 * sides, contains such a value. With few repetitions an interval is too narrow.
 */
function mayBe(value: number, { low, high }: Difference): boolean {
  const [width, tenth] = [high - low, DELAY_MS / 10];
  return low - width <= value + tenth && value - tenth <= high + width;
}

/** The example with the longer delay and this number of repetitions. A busy machine needs more of them to distinguish the arms. */
async function withRepetitions(folder: string, repetitions: number): Promise<string> {
  const { faults, ...rest } = parse(await readFile(example, 'utf8')) as { faults: [{ by: string }] };
  const [delay] = faults;
  expect([faults.length, delay.by]).toEqual([1, '500ms']);
  const file = join(folder, 'experiment.yaml');
  await writeFile(file, stringify({ ...rest, faults: [{ ...delay, by: `${DELAY_MS}ms` }], repetitions }));
  return file;
}

test(
  'delayed runtime events delay restarts by the same time, and starts not at all',
  async () => {
    await sweepTestFolders();
    const folder = await makeTestFolder();
    try {
      let measured = await measure(folder, await withRepetitions(folder, REPETITIONS), REPETITIONS);
      if (!isDecided(measured)) {
        const more = 2 * REPETITIONS;
        measured = await measure(folder, await withRepetitions(folder, more), more);
      }
      const [start, restart] = [measured.start.medianDifference, measured.restart.medianDifference];
      expect({ ...measured, decided: isDecided(measured) }).toEqual({ ...measured, decided: true });
      expect({ ...restart, delayed: mayBe(DELAY_MS, restart) }).toEqual({ ...restart, delayed: true });
      expect({ ...start, same: mayBe(0, start) }).toEqual({ ...start, same: true });
    } finally {
      await clean(folder);
    }
  },
  LIMIT_MS,
);

/** The example's arms with one pod, which takes half of the memory at once. */
async function onePod(folder: string): Promise<string> {
  interface Example {
    readonly workload: { readonly pods: [{ readonly template: { readonly spec: { containers: [object] } } }] };
  }
  const text = await readFile(join(examples, 'eviction-thresholds.yaml'), 'utf8');
  const { workload, ...rest } = parse(text) as Example;
  const [{ template }] = workload.pods;
  const part = "part=$(head -c 2097152 /dev/zero | tr '\\0' x)";
  const command = ['sh', '-c', `${part}; for i in $(seq 50); do eval "part$i=\\$part"; done; sleep 3600 & wait`];
  template.spec.containers = [{ ...template.spec.containers[0], command }];
  const file = join(folder, 'experiment.yaml');
  // The node reads its memory every 10 s, and sees the pods' cgroup at the second reading at the latest. A busy machine needs longer for
  // what follows: whether the pod has ended by then does not count.
  const short = { ...workload, until: 'ended', within: '40s', stay: '0s', pods: [{ template }] };
  await writeFile(file, stringify({ ...rest, repetitions: 1, workload: short }));
  return file;
}

test(
  'of two thresholds the higher one evicts a pod that the lower one leaves alone',
  async () => {
    const folder = await makeTestFolder();
    try {
      const { code, stdout, stderr } = await startExperiment(folder, await onePod(folder)).outcome;
      expect([code, stderr]).toEqual([0, expect.stringContaining('run 2 of 2')]);
      expect(await nodesIn(folder)).toEqual([]);
      const { measures, runs } = await readReport(folder);
      const ofArm = (name: string) => runs.find(({ arm }) => arm === name);
      const [low, high] = [ofArm('at-20mi'), ofArm('at-120mi')];
      expect(low).toMatchObject({ late: [expect.stringContaining('grows-')], values: { evicted: [0] } });
      expect(high).toMatchObject({ values: { evicted: [1], oomKilled: [0] } });
      expect(measures.find(({ measure }) => measure === 'evicted')).toMatchObject({
        arms: [
          { arm: 'at-20mi', mean: 0 },
          { arm: 'at-120mi', mean: 1 },
        ],
        meanDifference: { estimate: 1 },
      });
      expect(stdout).toContain('- evictionHard: {"memory.available":"120Mi"}');
    } finally {
      await clean(folder);
    }
  },
  LIMIT_MS,
);

test('on a described machine, CPUs that are distributed over the NUMA nodes are more fragmented', async () => {
  const folder = await makeTestFolder();
  try {
    const { code, stdout, stderr } = await startExperiment(folder, join(examples, 'fragmentation.yaml')).outcome;
    expect([code, stderr]).toEqual([0, '']);
    const { measures } = await readReport(folder);
    expect(measures[0]).toMatchObject({ measure: 'fragmentation', arms: [{ arm: 'packed' }, { arm: 'distributed' }] });
    expect(measures[0]?.medianDifference.low).toBeGreaterThan(0);
    expect(stdout).toMatch(/^\| pods on more NUMA nodes than needed, % \| packed \| 10 \| /m);
  } finally {
    await clean(folder);
  }
});

test('an invalid experiment is refused with file and field before anything runs', async () => {
  const folder = await makeTestFolder();
  try {
    const file = join(folder, 'wrong.yaml');
    await writeFile(file, 'name: wrong\nfaults:\n  - delay: runtime.>\n    by: soon\nworkload: {pods: []}\n');
    const { code, stdout, stderr } = await startExperiment(folder, file).outcome;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`${file}: faults[0].by: "soon" is not a duration`);
    expect(stderr).toContain(`${file}: workload.pods: `);
  } finally {
    await clean(folder);
  }
});

test('an arm whose configuration is not valid is refused before anything runs', async () => {
  const folder = await makeTestFolder();
  try {
    const { arms, ...rest } = parse(await readFile(join(examples, 'eviction-thresholds.yaml'), 'utf8')) as {
      arms: [object, { name: string }];
    };
    const file = join(folder, 'wrong.yaml');
    const wrong = { name: 'at-120mi', config: { evictionHard: { 'memory.available': 'much' } } };
    await writeFile(file, stringify({ ...rest, arms: [arms[0], wrong] }));
    const { code, stdout, stderr } = await startExperiment(folder, file).outcome;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('arm at-120mi: config: ');
    expect(stderr).toContain('quantities must match');
    expect(stderr).not.toContain('temporary node');
  } finally {
    await clean(folder);
  }
});

test('an interrupted experiment removes its node', async () => {
  const folder = await makeTestFolder();
  try {
    const running = startExperiment(folder, example);
    await poll('the first run', () => Promise.resolve(/run 1 of 10/.test(running.written.stderr) ? true : undefined));
    expect(await nodesIn(folder)).toHaveLength(1);
    expect((await running.end()).code).toBe(1);
    expect(await nodesIn(folder)).toEqual([]);
  } finally {
    await clean(folder);
  }
});
