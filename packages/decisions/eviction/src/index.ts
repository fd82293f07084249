export { type Disks, withContainerFs } from './disks.ts';
export { assess, noPressure } from './pressure.ts';
export type { Observation, Observations } from './signals.ts';
export { type Threshold, type ThresholdSettings, ThresholdError, parseThresholds } from './thresholds.ts';
