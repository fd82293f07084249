import type { ServiceContract } from '@kubus/contracts';
import type {
  Comparison,
  CriticalPath,
  LatencyDocument,
  MessageBrief,
  PodSummary,
  PodTimeline,
  ServiceMap,
} from '@kubus/observatory-api';
import type { StoredMessage } from './stored-message.ts';

export { type PathStep, causalPath, onBusBetween } from './causal-path.ts';
export { type CausalNode, causalTree } from './causal-tree.ts';
export { type RecordedMessage, recordedMessage } from './recorded-message.ts';
export type { StoredMessage } from './stored-message.ts';

/** A recorded message without its payload. Undefined for one that is not a node's own or carries no readable envelope. */
export declare function briefOf(stored: StoredMessage): MessageBrief | undefined;

/** The service of an instance: `pod-workers` of `pod-workers-0`. */
export declare function serviceOf(instance: string): string;

/**
 * All of one pod. `messages`: those with its UID, and those of nobody's pod that led to one of them, through any number of
 * others of nobody's pod; each once or more often, in any order. Messages of other pods do no harm.
 */
export declare function podTimeline(uid: string, messages: Iterable<StoredMessage>): PodTimeline;

/** The first part of {@link podTimeline}, from the messages with the pod's UID alone. */
export declare function podSummary(uid: string, messages: Iterable<StoredMessage>): PodSummary;

/** The critical paths that the pod has come to the end of: none, one, or both. `messages` as of {@link podTimeline}. */
export declare function criticalPaths(uid: string, messages: Iterable<StoredMessage>): CriticalPath[];

/** What latency and comparison need of a pod; a {@link PodTimeline} is one, and much smaller ones will do. */
export type PodPaths = Pick<PodTimeline, 'pod' | 'paths'>;

/** Over all pods that have such a path. `pods` is gone through once. */
export declare function latencyOf(what: 'start' | 'stop', pods: Iterable<PodPaths>): LatencyDocument;

/** One side of a comparison: all pods of a recording, or one of them, which `pod` then is. */
export interface ComparedStories {
  readonly recording: string;
  readonly pod?: PodSummary;
  readonly pods: Iterable<PodPaths>;
}
export declare function compare(what: 'start' | 'stop', left: ComparedStories, right: ComparedStories): Comparison;

/** Who says what to whom, of a whole recording: message after message in the order of the broker, whose payloads it does not keep. */
export declare class ServiceMapBuilder {
  constructor(contracts: Readonly<Record<string, ServiceContract>>);
  add(stored: StoredMessage): void;
  /** As things stand; may be asked for again after more messages. */
  map(): ServiceMap;
}
export declare function serviceMap(
  contracts: Readonly<Record<string, ServiceContract>>,
  messages: Iterable<StoredMessage>,
): ServiceMap;

/**
 * OTLP as JSON lines: each chunk is one line with its line feed, a whole `ExportTraceServiceRequest` of up to 500 spans.
 * A file of them is what the OpenTelemetry collector's `otlpjsonfile` receiver reads; each line alone is a body for
 * `POST /v1/traces`. `messages` in the order of the broker.
 */
export declare function otlpOf(messages: Iterable<StoredMessage>): Generator<string>;

/** A Chrome trace (JSON object format), in pieces of one document; Perfetto opens it. `messages` in the order of the broker. */
export declare function chromeTraceOf(messages: Iterable<StoredMessage>): Generator<string>;

/** JSON lines: each chunk one message with `seq`, `stored`, `subject`, `headers` and its parsed `payload`. */
export declare function jsonLinesOf(messages: Iterable<StoredMessage>): Generator<string>;

export interface CausalFinding {
  readonly kind: 'lost-cause' | 'early-effect' | 'undeclared-edge' | 'undeclared-root' | 'wrong-times';
  /** The id of the message that something is wrong with, and of the cause that it names. */
  readonly message: string;
  readonly cause?: string;
  /** For people: what is wrong. */
  readonly text: string;
}
/** What is wrong with the causes that messages name; empty when all is as it has to be. `messages` of a recording from a node's first one on. */
export declare function checkCausality(
  messages: Iterable<StoredMessage>,
  contracts: Readonly<Record<string, ServiceContract>>,
): Generator<CausalFinding>;
