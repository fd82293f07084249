/** What the node has left, when that reaches its thresholds, and which pods would go; amounts are texts for people. */
export interface PressureDocument {
  /** Conditions that the node has, such as `MemoryPressure`. */
  readonly conditions: readonly string[];
  /** How long a condition lasts after its last reason, in seconds. */
  readonly transitionSeconds: number;
  /** Those that were read come first. */
  readonly signals: readonly SignalDocument[];
  /** Missing: no pod is evicted, because there is no threshold. */
  readonly ranking?: RankingDocument;
}

export interface SignalDocument {
  readonly signal: string;
  /** Missing: it could not be read; so are the next two. */
  readonly available?: string;
  readonly capacity?: string;
  /** In a second, with its sign; missing also when it was read only once. */
  readonly change?: string;
  readonly thresholds: readonly ThresholdDocument[];
  /** The last readings, oldest first; empty if they were not asked for. */
  readonly curve: readonly CurvePoint[];
}

export interface CurvePoint {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Of the capacity, from 0 to 1. */
  readonly part: number;
}

export interface ThresholdDocument {
  /** As it is set; a percentage with its amount. */
  readonly value: string;
  /** Of the capacity, from 0 to 1; missing: the capacity is unknown. */
  readonly part?: number;
  /** Seconds for which the signal has to be below it; 0: a hard threshold. */
  readonly graceSeconds: number;
  /** Since when the signal has been below it, in milliseconds since the Unix epoch; missing: it is not. */
  readonly since?: number;
  /** Until the signal is below it, at the present slope; missing: it does not come nearer. */
  readonly secondsLeft?: number;
}

/** The pods in the order in which they are evicted for a signal. */
export interface RankingDocument {
  readonly signal: string;
  readonly pods: readonly RankedPodDocument[];
  /** How many more there are. */
  readonly leftOut: number;
}

export interface RankedPodDocument {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** From 1 on; missing: it is critical, and never goes. */
  readonly order?: number;
  readonly aboveRequest: boolean;
  readonly priority: number;
  /** Missing: nothing is known of it. */
  readonly uses?: string;
  /** Missing: of this nothing can be requested. */
  readonly requests?: string;
}
