export { DEFAULT_BUCKETS, exponentialBuckets } from './buckets.ts';
export { Distribution } from './distribution.ts';
export { EXPOSITION_TYPE, ExpositionWriter, exposition, valueText } from './exposition.ts';
export type { Labels, MetricFamily, MetricSample, MetricSeries, TakeSample } from './family.ts';
export { Tally } from './tally.ts';
