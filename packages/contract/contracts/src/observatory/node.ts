/** The node or the files that this page shows. */
export interface ObservatoryDocument {
  /** Version of Kubus. */
  readonly version: string;
  /** The running node; missing when only files are shown. */
  readonly node?: string;
  /** The node was started with faults enabled. */
  readonly faults: boolean;
}

/** The number of messages over time, an overview for any number of them. */
export interface DensityDocument {
  readonly from: number;
  readonly to: number;
  /** Width of one bucket in milliseconds. */
  readonly bucketMs: number;
  /** The count of each bucket, for each service. */
  readonly services: readonly { readonly service: string; readonly counts: readonly number[] }[];
}

/** Which service publishes which message to which service, with what was observed. */
export interface ServiceMap {
  readonly services: readonly MapService[];
  readonly edges: readonly MapEdge[];
}

export interface MapService {
  readonly service: string;
  readonly about: string;
  /** Instances that have announced themselves. */
  readonly instances: readonly { readonly instance: string; readonly epoch: number; readonly startedAt: string }[];
  readonly messages: number;
  /** Messages per second over the last 10 s of the recording. */
  readonly rate: number;
}

/** One message type from its publisher to one of its readers. */
export interface MapEdge {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly kind: 'fact' | 'cmd' | 'event';
  readonly messages: number;
  readonly rate: number;
  /** Time on the bus of those messages that were first causes: median and 95th percentile; missing when there were none. */
  readonly busP50?: number;
  readonly busP95?: number;
}

/** The content of a server-sent event of the live stream, sent at most twice a second. */
export interface LiveTick {
  readonly at: number;
  /** Last sequence of the record. */
  readonly seq: number;
  /** Messages per second since the last tick, of each service. */
  readonly rates: Readonly<Record<string, number>>;
  /** UIDs of pods that have had messages since the last tick. */
  readonly pods: readonly string[];
}
