import { type ManifestReport, type PodRef, type PodUpdate, type SourceName, sourceNames } from '@kubus/contracts';
import type { KubeWatcher } from '@kubus/kube';
import {
  type ConfigState,
  type DroppedPod,
  type SourceSet,
  allSourcesComplete,
  emptyConfig,
  merge,
} from '@kubus/pod-config';
import type { Clock, Logger, RecordStore } from '@kubus/ports';
import { ApiSource } from './api-source.ts';
import { FileSource, type ManifestFolder } from './file-source.ts';
import { HttpSource, type ManifestEndpoint } from './http-source.ts';
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
  /** Left out: none from a URL. `checkEveryMs` in milliseconds. */
  readonly http?: { readonly endpoint: ManifestEndpoint; readonly checkEveryMs: number } | undefined;
  /** Left out: the node is a member of no cluster. See {@link ApiSource}. */
  readonly api?: { readonly connect: () => Promise<KubeWatcher>; readonly random: () => number } | undefined;
}

/**
 * The pods that the sources of a node want, merged source by source. A source hands in its whole set, or what has changed
 * of it, and each pod that is another one by that is told once.
 */
export class ConfigSources {
  /** The sources of this node: nothing may be cleaned up before all of them are complete. */
  readonly registered: readonly SourceName[];
  readonly #output: ConfigOutput;
  readonly #logger: Logger;
  readonly #file: FileSource | undefined;
  readonly #http: HttpSource | undefined;
  readonly #api: ApiSource | undefined;
  #state: ConfigState;
  /** Pods left out of the last set of each source, so that each is told about once. */
  readonly #dropped = new Map<SourceName, ReadonlySet<string>>();

  constructor({ file, http, api, output, records, ...rest }: ConfigSourcesOptions) {
    this.#output = output;
    this.#logger = rest.logger;
    this.registered = sourceNames.filter((name) => ({ file, http, api })[name] !== undefined);
    this.#state = emptyConfig(this.registered);
    const reports = {
      manifest: (report: ManifestReport) => output.manifest(report.path, report),
      manifestGone: (path: string) => output.manifestGone(path),
    };
    this.#file =
      file &&
      new FileSource({
        ...rest,
        ...file,
        records,
        output: { ...reports, set: (pods) => this.#take({ source: 'file', pods, complete: true }) },
      });
    this.#http =
      http &&
      new HttpSource({
        ...rest,
        ...http,
        output: { ...reports, set: (pods, complete) => this.#take({ source: 'http', pods, complete }) },
      });
    this.#api =
      api &&
      new ApiSource({
        ...rest,
        ...api,
        held: (uid) => this.#state.get('api')?.pods.get(uid),
        output: {
          ...reports,
          set: (pods) => this.#take({ source: 'api', pods, complete: true }),
          changed: (pod) => this.#take({ source: 'api', pods: [pod], complete: false }),
          removed: (uid) => this.#take({ source: 'api', pods: [], removed: [uid], complete: false }),
        },
      });
  }

  /** Every source of this node has given its whole set. */
  get ready(): boolean {
    return allSourcesComplete(this.#state);
  }

  /** Resolves when the static pods have been read once, with or without success. */
  async start(): Promise<void> {
    this.#api?.start();
    await Promise.all([this.#file?.start(), this.#http?.start()]);
  }

  stop(): void {
    this.#file?.stop();
    this.#http?.stop();
    this.#api?.stop();
  }

  #take(set: SourceSet & { readonly source: SourceName }): void {
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
