import type { ManifestReport, Pod } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { duplicatePods } from '@kubus/pod-source';
import { type FileState, failFile, readFile, reportOf } from './manifest-files.ts';
import type { ManifestParser } from './manifest-parser.ts';

/** A manifest of a web server. */
export interface ManifestEndpoint {
  /** The URL without a password, for messages. */
  readonly url: string;
  /** Its text. Rejects when it cannot be read; then nothing is known about any pod. */
  read(): Promise<string>;
}

interface HttpSourceOutput {
  /** Takes the pods that the manifest defines now; all of them, if `complete`. */
  set(pods: readonly Pod[], complete: boolean): void;
  /** The manifest was read, or cannot be read. */
  manifest(report: ManifestReport): void;
}

export interface HttpSourceOptions {
  readonly node: string;
  readonly endpoint: ManifestEndpoint;
  /** Milliseconds between reads. */
  readonly checkEveryMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly output: HttpSourceOutput;
  readonly parser: ManifestParser;
}

/**
 * Static pods from a URL (behaviour:pod-sources), read at the start and every `checkEveryMs`; unchanged bytes are not
 * parsed. Without a valid answer the pods stay. The source is complete with the first answer that is valid or empty, as
 * in the reference.
 */
export class HttpSource {
  readonly #options: HttpSourceOptions;
  #state: FileState;
  #complete = false;
  #stopped = false;
  #timer: Cancel = () => undefined;

  constructor(options: HttpSourceOptions) {
    this.#options = options;
    this.#state = { path: options.endpoint.url, pods: [] };
  }

  /** Resolves after the first read, successful or not. */
  async start(): Promise<void> {
    await this.#read();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer();
  }

  async #read(): Promise<void> {
    const { endpoint, checkEveryMs } = this.#options;
    const outcome = await endpoint.read().then(
      (text) => ({ text }),
      (thrown: unknown) => ({ error: toError(thrown) }),
    );
    if (this.#stopped) return;
    await this.#take(outcome);
    this.#readAfter(checkEveryMs);
  }

  #readAfter(ms: number): void {
    if (!this.#stopped) this.#timer = this.#options.clock.after(ms, () => void this.#read());
  }

  async #take(outcome: { text: string } | { error: Error }): Promise<void> {
    const { node, endpoint, clock, logger, output, parser } = this.#options;
    const isNews = 'text' in outcome ? this.#state.text !== outcome.text : this.#state.fault !== outcome.error.message;
    if (!isNews) return;
    const now = new Date(clock.now()).toISOString();
    const path = endpoint.url;
    const state =
      'text' in outcome
        ? await readFile({ path, text: outcome.text }, this.#state, { node, now, source: 'http', parser })
        : failFile({ path, error: outcome.error }, this.#state, now);
    if (this.#stopped) return;
    this.#state = state;
    const report = reportOf(state, duplicatePods([state], 'http').get(path));
    if (report.errors.length > 0) logger.warn({ url: path, errors: report.errors }, 'invalid manifest');
    output.manifest(report);
    if ('error' in outcome) return;
    this.#complete ||= state.report.errors.length === 0 || outcome.text.trim() === '';
    output.set(state.pods, this.#complete);
  }
}
