import type { Clock, Logger, RecordStore } from '@kubus/ports';
import type { KubeWatcher } from '@kubus/kube';
import { type ManifestReport, type SourceName, sourceNames } from '@kubus/contracts';
import { ApiSource } from './api-source.ts';
import { FileSource, type ManifestFolder } from './file-source.ts';
import { HttpSource, type ManifestEndpoint } from './http-source.ts';
import { type ManifestParser, inlineParser } from './manifest-parser.ts';
import type { SourceTaker } from './source-merge.ts';

export interface ConfigSourcesOptions {
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  /** Receives what the sources have read. */
  readonly taker: SourceTaker;
  /** Default: parses in this thread. */
  readonly parser?: ManifestParser | undefined;
  /** Default: the node has no static pods from files. */
  readonly file?: { readonly folder: ManifestFolder; readonly fileCheckFrequency?: number | undefined } | undefined;
  /** Default: none from a URL. `checkEveryMs` in milliseconds. */
  readonly http?: { readonly endpoint: ManifestEndpoint; readonly checkEveryMs: number } | undefined;
  /** Default: the node is in no cluster. See {@link ApiSource}. */
  readonly api?: { readonly connect: () => Promise<KubeWatcher>; readonly random: () => number } | undefined;
}

/** The sources of a node with these options: nothing may be cleaned up before all of them are complete. */
export function registeredSources({ file, http, api }: Partial<Record<SourceName, unknown>>): SourceName[] {
  return sourceNames.filter((name) => ({ file, http, api })[name] !== undefined);
}

/** The sources of a node: each passes on its whole set, or what has changed in it. */
export class ConfigSources {
  readonly #file: FileSource | undefined;
  readonly #http: HttpSource | undefined;
  readonly #api: ApiSource | undefined;

  constructor({ file, http, api, taker, records, parser = inlineParser, ...rest }: ConfigSourcesOptions) {
    const reports = {
      manifest: (report: ManifestReport) => taker.manifest(report),
      manifestGone: (path: string) => taker.manifestGone(path),
    };
    this.#file =
      file &&
      new FileSource({
        ...rest,
        ...file,
        records,
        parser,
        output: { ...reports, set: (pods) => taker.take({ source: 'file', pods, complete: true }) },
      });
    this.#http =
      http &&
      new HttpSource({
        ...rest,
        ...http,
        parser,
        output: { ...reports, set: (pods, complete) => taker.take({ source: 'http', pods, complete }) },
      });
    this.#api =
      api &&
      new ApiSource({
        ...rest,
        ...api,
        held: (uid) => taker.held(uid),
        output: {
          ...reports,
          set: (pods) => taker.take({ source: 'api', pods, complete: true }),
          changed: (pod) => taker.take({ source: 'api', pods: [pod], complete: false }),
          removed: (uid) => taker.take({ source: 'api', pods: [], removed: [uid], complete: false }),
        },
      });
  }

  /** Resolves when the static pods have been read once, successfully or not. */
  async start(): Promise<void> {
    this.#api?.start();
    await Promise.all([this.#file?.start(), this.#http?.start()]);
  }

  stop(): void {
    this.#file?.stop();
    this.#http?.stop();
    this.#api?.stop();
  }
}
