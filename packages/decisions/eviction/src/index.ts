export { type Disks, withContainerFs } from './disks.ts';
export type { Candidate, PodUse } from './pod-use.ts';
export { assess, noPressure, thresholdsMet } from './pressure.ts';
export { rank } from './rank.ts';
export { reclaimableFor } from './reclaim.ts';
export { type Observation, type Observations, SIGNALS } from './signals.ts';
export { hasStorageLimit, storageExcess } from './storage-limits.ts';
export { type Threshold, type ThresholdSettings, ThresholdError, parseThresholds } from './thresholds.ts';
export { graceOf, pressureFailure } from './verdict.ts';
