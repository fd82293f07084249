export {
  type Experiment,
  ExperimentError,
  type Measure,
  type Workload,
  measures,
  parseExperiment,
} from './experiment.ts';
export type { ExperimentFault } from './experiment-fault.ts';
export { FaultError, type RuleOptions, describeRule, toRule } from './fault-rule.ts';
export { type PodLatencies, podLatencies } from './pod-latencies.ts';
export {
  type ArmSummary,
  type ExperimentReport,
  type MeasureReport,
  type RunResult,
  markdownOf,
  reportOf,
} from './report.ts';
export { type Arm, type Run, type RunPod, arms, podsOf, schedule } from './schedule.ts';
export { type Difference, difference, mean, median } from './statistics.ts';
