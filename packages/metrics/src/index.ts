export { DEFAULT_BUCKETS, exponentialBuckets } from './buckets.ts';
export { Distribution } from './distribution.ts';
export { EXPOSITION_TYPE, type WritePart, exposition, writeExposition } from './exposition.ts';
export type { Labels, MetricFamily, MetricSample, MetricSeries } from './family.ts';
export { Tally } from './tally.ts';
