import type { MessageBrief } from './message.ts';

export interface PodSummary {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly messages: number;
  /** Last phase that was told, such as `Running`. */
  readonly phase?: string;
  readonly ready?: boolean;
  /** What the worker said last: `syncing`, `terminating`, `terminated`, `finished`. */
  readonly worker?: string;
  /** From the source's first word of the pod to the status that says Ready (or Succeeded), if it came so far. */
  readonly startMs?: number;
  /** From the source's word that it is to go to the worker's word that nothing is left. */
  readonly stopMs?: number;
}

/** One step of a critical path: from one message to the next that waited for it. The three times add up to `ms`. */
export interface Segment {
  readonly cause: MessageBrief;
  readonly effect: MessageBrief;
  /** Whose time it is: the service that published the effect. */
  readonly service: string;
  /** What two pods have in common: `sync.fact.pod > pod-workers runtime.cmd.RunPodSandbox`. */
  readonly step: string;
  /** Until the cause was delivered to the publisher of the effect; 0 within one service. */
  readonly busMs: number;
  /** From then until that began to work on it; 0 where nobody has told. */
  readonly queueMs: number;
  /** From then until the effect was published. */
  readonly workMs: number;
  readonly ms: number;
}

export interface CriticalPath {
  readonly what: 'start' | 'stop';
  /** The first message and the last one. */
  readonly from: MessageBrief;
  readonly to: MessageBrief;
  readonly ms: number;
  readonly busMs: number;
  readonly queueMs: number;
  readonly workMs: number;
  readonly segments: readonly Segment[];
}

/** A span of work that is told by two messages: a command and its result, a plugin run, an image pull. */
export interface WorkSpan {
  readonly name: string;
  readonly service: string;
  readonly from: number;
  readonly to: number;
  /** Ids of the messages that tell it. */
  readonly messages: readonly string[];
  readonly failed?: string;
}

/** All of one pod: what swimlanes are drawn from. */
export interface PodTimeline {
  readonly pod: PodSummary;
  /** Its own messages, and those of nobody's pod that led to one of them; in the order of their publication. */
  readonly messages: readonly MessageBrief[];
  readonly spans: readonly WorkSpan[];
  readonly paths: readonly CriticalPath[];
  /** The services that have messages in it, in the order in which a pod comes to them. */
  readonly services: readonly string[];
}

/** What one kind of segment took over all pods of a recording. */
export interface SegmentStatistics {
  readonly step: string;
  readonly service: string;
  /** One duration for each pod that had the step, in the order of `pods`; null for one that had not. */
  readonly ms: readonly (number | null)[];
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export interface LatencyDocument {
  readonly what: 'start' | 'stop';
  readonly pods: readonly PodSummary[];
  /** Whole latency of each pod. */
  readonly ms: readonly number[];
  /** The steps in the order in which they come in a path. */
  readonly segments: readonly SegmentStatistics[];
}

/** One step of two stories beside each other. */
export interface ComparedStep {
  readonly step: string;
  readonly service: string;
  /** How long each has taken: of two recordings the medians over their pods. Missing: has no such step. */
  readonly left?: number;
  readonly right?: number;
  /** `slower`: of the right side, by more than the noise of both and 1 ms. */
  readonly verdict: 'same' | 'slower' | 'faster' | 'missing' | 'added';
}

/** Two pods or two recordings, aligned by step. */
export interface Comparison {
  readonly what: 'start' | 'stop';
  readonly left: ComparedSide;
  readonly right: ComparedSide;
  readonly steps: readonly ComparedStep[];
}

export interface ComparedSide {
  readonly recording: string;
  /** Left out when all pods of the recording are meant. */
  readonly pod?: PodSummary;
  /** How many pods are in it. */
  readonly pods: number;
  /** Whole latency: of several pods the median. */
  readonly ms: number;
}
