import type { ManifestReport, Pod, PodRef, PodUpdate, SourceName } from '@kubus/contracts';
import {
  type ConfigState,
  type DroppedPod,
  type SourceSet,
  allSourcesComplete,
  emptyConfig,
  merge,
} from '@kubus/pod-source';
import type { Logger } from '@kubus/ports';
import { podRef } from './manifest-files.ts';

/** Receives the results, in order; no method may throw. */
export interface ConfigOutput {
  /** A pod of the source is new or has changed. */
  pod(source: SourceName, update: PodUpdate): void;
  /** The source no longer has the pod; `update` holds its last version. */
  removed(source: SourceName, uid: string, update: PodUpdate): void;
  /** The source has passed on its whole set for the first time. Called once per source. */
  complete(source: SourceName): void;
  /** The result of reading a manifest file. */
  manifest(path: string, report: ManifestReport): void;
  manifestGone(path: string): void;
  /** A Kubernetes event about a pod. */
  event(event: { pod: PodRef; type: 'Warning'; reason: string; message: string }): void;
}

/** The whole set of one source, or what has changed in it. */
export type NamedSet = SourceSet & { readonly source: SourceName };

/** Receives what the sources have read. */
export interface SourceTaker {
  take(set: NamedSet): void;
  manifest(report: ManifestReport): void;
  manifestGone(path: string): void;
  /** The last version of a pod of the API server. */
  held(uid: string): Pod | undefined;
}

/** Merges the pods of a node's sources, source by source; each pod that a new set changes is published once. */
export class SourceMerge implements SourceTaker {
  readonly #output: ConfigOutput;
  readonly #logger: Logger;
  #state: ConfigState;
  /** By source: pods left out of the last set, so that each is reported once. */
  readonly #dropped = new Map<SourceName, ReadonlySet<string>>();

  /** @param options.registered the sources that this node has. */
  constructor(options: { registered: readonly SourceName[]; output: ConfigOutput; logger: Logger }) {
    this.#output = options.output;
    this.#logger = options.logger;
    this.#state = emptyConfig(options.registered);
  }

  /** Whether every source of this node has passed on its whole set. */
  get ready(): boolean {
    return allSourcesComplete(this.#state);
  }

  held(uid: string): Pod | undefined {
    return this.#state.get('api')?.pods.get(uid);
  }

  manifest(report: ManifestReport): void {
    this.#output.manifest(report.path, report);
  }

  manifestGone(path: string): void {
    this.#output.manifestGone(path);
  }

  take(set: NamedSet): void {
    const { source } = set;
    const { state, updates, dropped, completed } = merge(this.#state, set);
    this.#state = state;
    for (const update of updates) {
      const { uid } = update.pod.metadata;
      if (update.operation === 'REMOVE') this.#output.removed(source, uid, update);
      else this.#output.pod(source, update);
    }
    if (completed) this.#output.complete(source);
    if (set.complete) this.#publish(source, dropped);
  }

  #publish(source: SourceName, dropped: readonly DroppedPod[]): void {
    const before = this.#dropped.get(source);
    this.#dropped.set(source, new Set(dropped.map(({ pod }) => pod.metadata.uid)));
    for (const { pod, reason, message } of dropped) {
      if (before?.has(pod.metadata.uid) === true) continue;
      const ref = podRef(pod);
      this.#logger.warn({ pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid, source }, message);
      this.#output.event({ pod: ref, type: 'Warning', reason, message });
    }
  }
}
