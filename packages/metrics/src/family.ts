/** Names and values. */
export type Labels = Readonly<Record<string, string>>;

/** One value. */
export interface MetricSample {
  readonly labels: Labels;
  /** More labels, where the ones above are those of many samples: said once, they are written once. */
  readonly further?: Labels | undefined;
  readonly value: number;
  /** When it was so, in milliseconds since the Unix epoch; left out, it is so now. */
  readonly timestampMs?: number;
}

/** What a histogram has counted for one set of labels. */
export interface MetricSeries {
  readonly labels: Labels;
  /** How many values are `le` or smaller, by growing `le`; the bucket of all values is left out. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

/** A metric with its values, as Prometheus has it. */
export type MetricFamily = SampleFamily | SeriesFamily;

/** Takes one sample; the arguments are the fields of {@link MetricSample}. */
export type TakeSample = (value: number, labels: Labels, timestampMs?: number, further?: Labels) => void;

export interface SampleFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly MetricSample[];
  /** Gives the same samples to `take`, where there are so many that an object for each one would be felt. */
  readonly each?: (take: TakeSample) => void;
}

export interface SeriesFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'histogram';
  readonly series: readonly MetricSeries[];
}
