export { DEFAULT_BUCKETS, exponentialBuckets } from './buckets.ts';
export { Distribution } from './distribution.ts';
export { EXPOSITION_TYPE, type ExpositionSink, ExpositionWriter, exposition, valueText } from './exposition.ts';
export type { Labels, MetricFamily, MetricSample, MetricSeries, SampleFamily, TakeSample } from './family.ts';
export { Tally } from './tally.ts';
