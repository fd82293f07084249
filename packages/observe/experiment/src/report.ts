import { Random } from '@kubus/ports';
import type { Experiment } from './experiment.ts';
import type { ExperimentFault } from './experiment-fault.ts';
import { describeRule } from './fault-rule.ts';
import { fragmentationOverTime, measureTitle } from './measures.ts';
import type { Run } from './schedule.ts';
import { type Difference, difference, mean, median } from './statistics.ts';

/** The result of a run: the values of each measure, and the pods that did not reach the expected state. */
export interface RunResult extends Run {
  readonly values: Readonly<Record<string, readonly number[]>>;
  readonly late: readonly string[];
}

/** One arm's values of a measure, in the measure's unit. Missing where there are none. */
interface ArmSummary {
  readonly arm: string;
  readonly count: number;
  readonly mean?: number;
  readonly median?: number;
}

/** A measure in both arms, and how much larger it is in the second. Missing where an arm has no values. */
interface MeasureReport {
  readonly measure: string;
  readonly arms: readonly [ArmSummary, ArmSummary];
  readonly meanDifference?: Difference;
  readonly medianDifference?: Difference;
}

/** What distinguishes an arm: faults in words, fields of its configuration. */
interface ArmReport {
  readonly name: string;
  readonly faults: readonly string[];
  readonly config: object;
}

/** The result of an experiment. */
export interface ExperimentReport {
  readonly experiment: string;
  readonly about?: string;
  readonly seed: number;
  readonly repetitions: number;
  readonly arms: readonly ArmReport[];
  readonly measures: readonly MeasureReport[];
  readonly runs: readonly RunResult[];
}

/** The same runs and the same seed give the same report. */
export function reportOf(experiment: Experiment, runs: readonly RunResult[]): ExperimentReport {
  const { name, about, seed, repetitions, arms } = experiment;
  return {
    experiment: name,
    ...(about !== undefined && { about }),
    seed,
    repetitions,
    arms: arms.map((arm) => ({
      name: arm.name,
      faults: 'faults' in arm ? arm.faults.map(faultWords) : [],
      config: arm.config,
    })),
    measures: experiment.measure
      .flatMap((measure) => (measure === 'fragmentation' ? [measure, ...fragmentationOverTime] : measure))
      .map((measure) => measureReport(measure, experiment, runs)),
    runs,
  };
}

function measureReport(
  measure: string,
  { arms: [first, second], seed }: Pick<Experiment, 'arms' | 'seed'>,
  runs: readonly RunResult[],
): MeasureReport {
  const ofArm = (name: string) => runs.filter(({ arm }) => arm === name).map(({ values }) => values[measure] ?? []);
  const [ofFirst, ofSecond] = [ofArm(first.name), ofArm(second.name)];
  const means = difference(ofFirst, ofSecond, mean, new Random(seed));
  const medians = difference(ofFirst, ofSecond, median, new Random(seed));
  return {
    measure,
    arms: [summaryOf(first.name, ofFirst.flat()), summaryOf(second.name, ofSecond.flat())],
    ...(means && { meanDifference: means }),
    ...(medians && { medianDifference: medians }),
  };
}

function summaryOf(arm: string, values: readonly number[]): ArmSummary {
  if (values.length === 0) return { arm, count: 0 };
  return { arm, count: values.length, mean: mean(values), median: median(values) };
}

function faultWords(fault: ExperimentFault): string {
  const when = fault.at === 0 ? 'from the beginning' : `after ${fault.at} ms`;
  if ('rule' in fault) {
    const { forMs } = fault.rule.when ?? {};
    const long = forMs === undefined ? 'to the end' : `for ${forMs} ms`;
    return `${describeRule(fault.rule)}, ${when} ${long}`;
  }
  const { what } = fault.fault;
  return `${what} ${fault.service}${fault.fault.what === 'pause' ? ` for ${fault.fault.forMs} ms` : ''}, ${when}`;
}

/** The report as Markdown. */
export function markdownOf(report: ExperimentReport): string {
  const { experiment, about, seed, repetitions, arms, measures, runs } = report;
  const late = runs.flatMap(({ arm, late: names }) => names.map((name) => `- ${name} (${arm})`));
  return [
    `# ${experiment}`,
    '',
    ...(about === undefined ? [] : [about, '']),
    `${repetitions} repetitions, seed ${seed}. Arms:`,
    '',
    ...arms.flatMap(armLines),
    '',
    `Differences are ${arms
      .map(({ name }) => name)
      .toReversed()
      .join(' less ')}, with their 95 % confidence intervals.`,
    '',
    '| measure | arm | values | mean | median | difference of means | difference of medians |',
    '| --- | --- | ---: | ---: | ---: | ---: | ---: |',
    ...measures.flatMap(rowsOf),
    '',
    ...(late.length === 0 ? [] : ['Pods that did not reach the expected state in time:', '', ...late, '']),
  ].join('\n');
}

function armLines({ name, faults, config }: ArmReport): string[] {
  const settings = Object.entries(config).map(([field, value]) => `  - ${field}: ${JSON.stringify(value)}`);
  return [`- ${name}`, ...faults.map((fault) => `  - ${fault}`), ...settings];
}

function rowsOf({ measure, arms: [first, second], meanDifference, medianDifference }: MeasureReport): string[] {
  return [
    row([measureTitle(measure), ...summaryCells(first), '', '']),
    row(['', ...summaryCells(second), differenceCell(meanDifference), differenceCell(medianDifference)]),
  ];
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function summaryCells({ arm, count, mean: average, median: middle }: ArmSummary): string[] {
  return [arm, String(count), ...[average, middle].map((value) => (value === undefined ? '-' : value.toFixed(1)))];
}

function differenceCell(difference: Difference | undefined): string {
  if (difference === undefined) return '-';
  const signed = (value: number) => `${value < 0 ? '' : '+'}${value.toFixed(1)}`;
  return `${signed(difference.estimate)} (${signed(difference.low)} to ${signed(difference.high)})`;
}
