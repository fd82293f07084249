import type { ManifestReport, Pod, PodRef, PodUpdate, SourceName } from '@kubus/contracts';
import { type ConfigState, type DroppedPod, allSourcesComplete, emptyConfig, merge } from '@kubus/pod-config';
import type { Clock, Logger, RecordStore } from '@kubus/ports';
import { FileSource, type ManifestFolder } from './file-source.ts';
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

export interface ConfigSourcesOptions {
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly output: ConfigOutput;
  /** Left out: this node has no static pods from files. */
  readonly file?: { readonly folder: ManifestFolder; readonly fileCheckFrequency?: number | undefined } | undefined;
}

/**
 * The pods that the sources of a node want, merged source by source. A source hands in its whole set and gets one update
 * for each pod that changed. The http and api sources have their place in the merge and are not there yet.
 */
export class ConfigSources {
  /** The sources of this node: nothing may be cleaned up before all of them are complete. */
  readonly registered: readonly SourceName[];
  readonly #output: ConfigOutput;
  readonly #logger: Logger;
  readonly #file: FileSource | undefined;
  #state: ConfigState;
  /** Pods left out of the last set of each source, so that each is told about once. */
  readonly #dropped = new Map<SourceName, ReadonlySet<string>>();

  constructor({ file, output, logger, ...rest }: ConfigSourcesOptions) {
    this.#output = output;
    this.#logger = logger;
    this.registered = file === undefined ? [] : ['file'];
    this.#state = emptyConfig(this.registered);
    this.#file =
      file &&
      new FileSource({
        ...rest,
        ...file,
        logger,
        output: {
          set: (pods) => this.set('file', pods),
          manifest: (report) => output.manifest(report.path, report),
          manifestGone: (path) => output.manifestGone(path),
        },
      });
  }

  /** Every source of this node has given its whole set. */
  get ready(): boolean {
    return allSourcesComplete(this.#state);
  }

  /** Resolves when each source has been read once, with or without success. */
  async start(): Promise<void> {
    await this.#file?.start();
  }

  stop(): void {
    this.#file?.stop();
  }

  /** Takes the whole set of one source. */
  set(source: SourceName, pods: readonly Pod[]): void {
    const { state, updates, dropped, completed } = merge(this.#state, { source, pods, complete: true });
    this.#state = state;
    for (const update of updates) {
      const { uid } = update.pod.metadata;
      if (update.operation === 'REMOVE') this.#output.removed(source, uid, update);
      else this.#output.pod(source, update);
    }
    if (completed) this.#output.complete(source);
    this.#tell(source, dropped);
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
