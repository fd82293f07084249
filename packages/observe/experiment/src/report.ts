import { Random } from '@kubus/ports';
import type { Experiment, Measure } from './experiment.ts';
import { describeRule } from './fault-rule.ts';
import type { Arm, Run } from './schedule.ts';
import { type Difference, difference, mean, median } from './statistics.ts';

/** The result of a run: the values of each measure in milliseconds, and the pods that did not reach the expected state. */
export interface RunResult extends Run {
  readonly values: Readonly<Record<Measure, readonly number[]>>;
  readonly late: readonly string[];
}

/** One arm's values of a measure, in milliseconds. Missing where there are none. */
interface ArmSummary {
  readonly count: number;
  readonly mean?: number;
  readonly median?: number;
}

/** A measure in both arms, and how much larger it is with the faults. Missing where an arm has no values. */
interface MeasureReport {
  readonly measure: Measure;
  readonly baseline: ArmSummary;
  readonly faults: ArmSummary;
  readonly meanDifference?: Difference;
  readonly medianDifference?: Difference;
}

/** The result of an experiment. */
export interface ExperimentReport {
  readonly experiment: string;
  readonly about?: string;
  readonly seed: number;
  readonly repetitions: number;
  readonly faults: readonly string[];
  readonly measures: readonly MeasureReport[];
  readonly runs: readonly RunResult[];
}

/** The same runs and the same seed give the same report. */
export function reportOf(experiment: Experiment, runs: readonly RunResult[]): ExperimentReport {
  const { name, about, seed, repetitions } = experiment;
  return {
    experiment: name,
    ...(about !== undefined && { about }),
    seed,
    repetitions,
    faults: experiment.faults.map(faultWords),
    measures: experiment.measure.map((measure) => measureReport(measure, runs, seed)),
    runs,
  };
}

function measureReport(measure: Measure, runs: readonly RunResult[], seed: number): MeasureReport {
  const ofArm = (arm: Arm) => runs.filter((run) => run.arm === arm).map(({ values }) => values[measure]);
  const [baseline, faults] = [ofArm('baseline'), ofArm('faults')];
  const means = difference(baseline, faults, mean, new Random(seed));
  const medians = difference(baseline, faults, median, new Random(seed));
  return {
    measure,
    baseline: summaryOf(baseline.flat()),
    faults: summaryOf(faults.flat()),
    ...(means && { meanDifference: means }),
    ...(medians && { medianDifference: medians }),
  };
}

function summaryOf(values: readonly number[]): ArmSummary {
  if (values.length === 0) return { count: 0 };
  return { count: values.length, mean: mean(values), median: median(values) };
}

function faultWords(fault: Experiment['faults'][number]): string {
  const when = fault.at === 0 ? 'from the beginning' : `after ${fault.at} ms`;
  if ('rule' in fault) {
    const { forMs } = fault.rule.when ?? {};
    const long = forMs === undefined ? 'to the end' : `for ${forMs} ms`;
    return `${describeRule(fault.rule)}, ${when} ${long}`;
  }
  const { what } = fault.fault;
  return `${what} ${fault.service}${fault.fault.what === 'pause' ? ` for ${fault.fault.forMs} ms` : ''}, ${when}`;
}

const titles: Readonly<Record<Measure, string>> = {
  start: 'start of a pod',
  restart: 'restart of a container',
  stop: 'stop of a pod',
  cpu: 'CPU of the agent per pod',
};

/** The report as Markdown. */
export function markdownOf(report: ExperimentReport): string {
  const { experiment, about, seed, repetitions, faults, measures, runs } = report;
  const late = runs.flatMap(({ arm, late: names }) => names.map((name) => `- ${name} (${arm})`));
  return [
    `# ${experiment}`,
    '',
    ...(about === undefined ? [] : [about, '']),
    `${repetitions} repetitions, seed ${seed}. Faults:`,
    '',
    ...faults.map((fault) => `- ${fault}`),
    '',
    'Milliseconds; differences are faults less baseline, with their 95 % confidence intervals.',
    '',
    '| measure | arm | values | mean | median | difference of means | difference of medians |',
    '| --- | --- | ---: | ---: | ---: | ---: | ---: |',
    ...measures.flatMap(rowsOf),
    '',
    ...(late.length === 0 ? [] : ['Pods that did not reach the expected state in time:', '', ...late, '']),
  ].join('\n');
}

function rowsOf({ measure, baseline, faults, meanDifference, medianDifference }: MeasureReport): string[] {
  return [
    row([titles[measure], 'baseline', ...summaryCells(baseline), '', '']),
    row(['', 'faults', ...summaryCells(faults), differenceCell(meanDifference), differenceCell(medianDifference)]),
  ];
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function summaryCells({ count, mean: average, median: middle }: ArmSummary): string[] {
  return [String(count), ...[average, middle].map((value) => (value === undefined ? '-' : value.toFixed(1)))];
}

function differenceCell(difference: Difference | undefined): string {
  if (difference === undefined) return '-';
  const signed = (value: number) => `${value < 0 ? '' : '+'}${value.toFixed(1)}`;
  return `${signed(difference.estimate)} (${signed(difference.low)} to ${signed(difference.high)})`;
}
