export { type Experiment, ExperimentError, type Workload, parseExperiment } from './experiment.ts';
export type { ExperimentFault } from './experiment-fault.ts';
export { describeRule, toRule } from './fault-rule.ts';
export { type PodLatencies, podLatencies } from './pod-latencies.ts';
export { type RunResult, markdownOf, reportOf } from './report.ts';
export { type Arm, type Run, type RunPod, arms, podsOf, schedule } from './schedule.ts';
export { difference, mean, median } from './statistics.ts';
