/** Label names with their values. */
export type Labels = Readonly<Record<string, string>>;

/** One value. */
export interface MetricSample {
  readonly labels: Labels;
  /** Further labels, where the labels above are shared by many samples. Shared labels are converted to text only once. */
  readonly further?: Labels | undefined;
  readonly value: number;
  /** The time of the value, in milliseconds since the Unix epoch. Default: now. */
  readonly timestampMs?: number;
}

/** The counts of a histogram for one set of labels. */
export interface MetricSeries {
  readonly labels: Labels;
  /** The number of values that are `le` or smaller, in ascending order of `le`; the bucket of all values is omitted. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

/** A metric with its values, as in Prometheus. */
export type MetricFamily = SampleFamily | SeriesFamily;

/** Takes one sample; the arguments are the fields of {@link MetricSample}. */
export type TakeSample = (value: number, labels: Labels, timestampMs?: number, further?: Labels) => void;

export interface SampleFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly MetricSample[];
  /** Passes the same samples to `take`; for families so large that one object per sample would be costly. */
  readonly each?: (take: TakeSample) => void;
}

interface SeriesFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'histogram';
  readonly series: readonly MetricSeries[];
}
