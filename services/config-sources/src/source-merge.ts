import type { ManifestReport, Pod, PodRef, PodUpdate, SourceName } from '@kubus/contracts';
import {
  type ConfigState,
  type DroppedPod,
  type SourceSet,
  allSourcesComplete,
  emptyConfig,
  merge,
} from '@kubus/pod-config';
import type { Logger } from '@kubus/ports';
import { podRef } from './manifest-files.ts';

/** Where the results go. The calls come in the order in which they matter; none of them may throw. */
export interface ConfigOutput {
  /** A pod of the source is new or has changed. */
  pod(source: SourceName, update: PodUpdate): void;
  /** The source no longer has the pod; `update` holds it as it was last. */
  removed(source: SourceName, uid: string, update: PodUpdate): void;
  /** The source has given its whole set for the first time. Called once for each source. */
  complete(source: SourceName): void;
  /** What a manifest file gave when it was read last. */
  manifest(path: string, report: ManifestReport): void;
  manifestGone(path: string): void;
  /** Something about a pod that people should hear of. */
  event(event: { pod: PodRef; type: 'Warning'; reason: string; message: string }): void;
}

/** The set of one source, or what has changed of it. */
export type NamedSet = SourceSet & { readonly source: SourceName };

/** Gets what the sources have read. */
export interface SourceTaker {
  take(set: NamedSet): void;
  manifest(report: ManifestReport): void;
  manifestGone(path: string): void;
  /** A pod of the API server as it was taken last. */
  held(uid: string): Pod | undefined;
}

/** Merges the pods of a node's sources, source by source; each pod that is another one by a new set is told once. */
export class SourceMerge implements SourceTaker {
  readonly #output: ConfigOutput;
  readonly #logger: Logger;
  #state: ConfigState;
  /** Pods left out of the last set of each source, so that each is told about once. */
  readonly #dropped = new Map<SourceName, ReadonlySet<string>>();

  /** @param options.registered the sources that this node has. */
  constructor(options: { registered: readonly SourceName[]; output: ConfigOutput; logger: Logger }) {
    this.#output = options.output;
    this.#logger = options.logger;
    this.#state = emptyConfig(options.registered);
  }

  /** Every source of this node has given its whole set. */
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
    if (set.complete) this.#tell(source, dropped);
  }

  #tell(source: SourceName, dropped: readonly DroppedPod[]): void {
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
