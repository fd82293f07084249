import type { MessageBrief } from './message.ts';
import type { TopologyClaim } from './topology.ts';

/**
 * How a pod is doing. `failing`: something is wrong and is tried again; `unready`: it runs and nothing is known to be wrong;
 * `deleted`: nothing of it is left on the node.
 */
export type PodState = 'starting' | 'ready' | 'unready' | 'failing' | 'failed' | 'succeeded' | 'stopping' | 'deleted';

export interface PodSummary {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly messages: number;
  /** Last phase that was published, such as `Running`. */
  readonly phase?: string;
  readonly ready?: boolean;
  /** The worker's last state: `syncing`, `terminating`, `terminated`, `finished`. */
  readonly worker?: string;
  readonly state: PodState;
  /** Of `failing` and `failed`: the API's reason, such as `CrashLoopBackOff`, where it gives one. */
  readonly reason?: string;
  /** From the source's first message about the pod to the status Ready (or Succeeded), if it was reached. */
  readonly startMs?: number;
  /** From the source's message that the pod is no longer desired to the worker's message that nothing of it is left. */
  readonly stopMs?: number;
}

/** One step of a critical path: from one message to the next one that waited for it. The three times add up to `ms`. */
export interface Segment {
  readonly cause: MessageBrief;
  readonly effect: MessageBrief;
  /** The service that used the time: the one that published the effect. */
  readonly service: string;
  /** The name of the step, the same for all pods: `sync.fact.pod > pod-workers runtime.cmd.RunPodSandbox`. */
  readonly step: string;
  /** Until the cause was delivered to the publisher of the effect; 0 within one service. */
  readonly busMs: number;
  /** From then until the publisher began to work on it; 0 where that was not recorded. */
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

/** A span of work between two messages: a command and its result, a plugin run, an image pull. */
export interface WorkSpan {
  readonly name: string;
  readonly service: string;
  readonly from: number;
  readonly to: number;
  /** Ids of the messages that show it. */
  readonly messages: readonly string[];
  readonly failed?: string;
}

/** The answer to the questions that a pod is opened with. */
export interface PodAnswer {
  readonly state: PodState;
  /** One sentence: how it is, how long that took or why, and what to make of it. */
  readonly sentence: string;
  /** That manifests have other pods with its name or UID, which are not run, and which manifest is used. */
  readonly notice?: string;
  /** Of a pod that failed or is not ready for a known reason. */
  readonly why?: PodFailure;
  /** What to look at next, the most useful first. */
  readonly next: readonly NextLook[];
}

/** Why a pod failed or is not ready. */
export interface PodFailure {
  /** The message that says so. */
  readonly said: MessageBrief;
  /** The messages that led to it, from the first cause to the message itself. */
  readonly chain: readonly MessageBrief[];
  /** The Kubernetes event about it, where there is one. */
  readonly event?: {
    readonly message: MessageBrief;
    readonly reason: string;
    readonly text: string;
    readonly count: number;
  };
}

/** Something to look at: a message by its sequence, the latencies of the recording, or what a command prints. */
export type NextLook = { readonly text: string } & (
  { readonly message: number } | { readonly view: 'latency' } | { readonly command: string }
);

/** Everything about one pod, from which its swimlanes are drawn. */
export interface PodTimeline {
  readonly pod: PodSummary;
  readonly answer: PodAnswer;
  /** Its own messages, and messages of no pod that led to one of them; in the order of their publication. */
  readonly messages: readonly MessageBrief[];
  readonly spans: readonly WorkSpan[];
  readonly paths: readonly CriticalPath[];
  /** The services with messages in it, in the order in which they are involved with a pod. */
  readonly services: readonly string[];
  /** Devices of plugins that its containers have, or had when it ended; missing: none. */
  readonly devices?: readonly {
    readonly container: string;
    readonly resource: string;
    readonly id: string;
    /** NUMA nodes. */
    readonly nodes: string;
  }[];
  /** Devices of its resource claims; missing: none. */
  readonly claims?: readonly Pick<TopologyClaim, 'claim' | 'driver' | 'device' | 'health'>[];
}

/** The time that one kind of segment took across all pods of a recording. */
export interface SegmentStatistics {
  readonly step: string;
  readonly service: string;
  /** One duration for each pod, in the order of `pods`; null for a pod without the step. */
  readonly ms: readonly (number | null)[];
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export interface LatencyDocument {
  readonly what: 'start' | 'stop';
  readonly pods: readonly PodSummary[];
  /** Total latency of each pod. */
  readonly ms: readonly number[];
  /** The steps in the order in which they occur in a path. */
  readonly segments: readonly SegmentStatistics[];
}

/** One step of two stories, side by side. */
export interface ComparedStep {
  readonly step: string;
  readonly service: string;
  /** The duration of the step; for two recordings the median over their pods. Missing: that side does not have the step. */
  readonly left?: number;
  readonly right?: number;
  /** `slower`: the right side is slower, by more than 1 ms and more than the noise of both. */
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
  /** Default: all pods of the recording. */
  readonly pod?: PodSummary;
  /** The number of pods in it. */
  readonly pods: number;
  /** Total latency; for several pods the median. */
  readonly ms: number;
}
