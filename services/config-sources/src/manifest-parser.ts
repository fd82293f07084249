import { type Manifest, type StaticOrigin, readManifest } from '@kubus/pod-source';
import { type Clock, KubusError, toError } from '@kubus/ports';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** A manifest and where it comes from. */
export type ManifestText = StaticOrigin & { readonly text: string };

/** Makes pods of manifests; see `readManifest`. */
export interface ManifestParser {
  /** Rejects with {@link ManifestParserError} when that takes too long, or more memory than it may. */
  parse(manifest: ManifestText): Promise<Manifest>;
}

/** What the thread of a {@link ThreadedParser} answers. */
export type ParserReply = { readonly manifest: Manifest } | { readonly failure: string };

/** Thrown when a manifest is within all limits, and its parser does not end in time. */
export class ManifestParserError extends KubusError {}

/** Parses here and now: for tests, and for texts that take no time. */
export const inlineParser: ManifestParser = { parse: (manifest) => Promise.resolve(readManifest(manifest)) };

/** Longer texts are parsed in a thread. Characters. */
const SHORT = 16 * 1024;
/** Short texts are parsed until this has passed; then other work has its turn. Milliseconds. */
const TURN_MS = 10;
/** How long a text may take; the limits of manifests allow for about a tenth of that. Milliseconds. */
const TIME_LIMIT_MS = 30_000;
/** A text that needs more memory than this ends only its thread. */
const MAX_MIB = 512;
/** A thread that has been idle for this long ends. Milliseconds. */
const IDLE_MS = 10_000;

export interface ThreadedParserOptions {
  readonly clock: Clock;
  /** Milliseconds. Default: 30 s. */
  readonly timeLimitMs?: number;
  /** The program of the thread; default: manifest-thread.ts. */
  readonly program?: URL;
}

/** Parses one text at a time, so that a long one keeps nothing else from being done: in a thread that is ended when it takes too long. */
export class ThreadedParser implements ManifestParser {
  readonly #clock: Clock;
  readonly #timeLimitMs: number;
  readonly #program: URL | undefined;
  #worker: Worker | undefined;
  #turnBegan = performance.now();
  #last: Promise<unknown> = Promise.resolve();
  #idle: (() => void) | undefined;

  constructor({ clock, timeLimitMs = TIME_LIMIT_MS, program }: ThreadedParserOptions) {
    this.#clock = clock;
    this.#timeLimitMs = timeLimitMs;
    this.#program = program;
  }

  parse(manifest: ManifestText): Promise<Manifest> {
    const parsed = this.#last.then(() =>
      manifest.text.length > SHORT ? this.#parseInThread(manifest) : this.#parseHere(manifest),
    );
    this.#last = parsed.catch(() => undefined);
    return parsed;
  }

  async close(): Promise<void> {
    this.#idle?.();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #parseHere(manifest: ManifestText): Promise<Manifest> {
    if (performance.now() - this.#turnBegan > TURN_MS) {
      await nextTurn();
      this.#turnBegan = performance.now();
    }
    return readManifest(manifest);
  }

  async #parseInThread(manifest: ManifestText): Promise<Manifest> {
    this.#idle?.();
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<Manifest>();
    const fail = (what: string) => {
      reject(new ManifestParserError('manifest-parser', what, { context: { path: manifest.path } }));
    };
    const onMessage = (reply: ParserReply) => ('manifest' in reply ? resolve(reply.manifest) : fail(reply.failure));
    const onError = (error: unknown) => fail(toError(error).message);
    const onExit = () => fail('the thread that parsed it has ended');
    worker.once('message', onMessage).once('error', onError).once('exit', onExit);
    const endTimer = this.#clock.after(this.#timeLimitMs, () => {
      fail(`not parsed within ${this.#timeLimitMs / 1000} s`);
    });
    try {
      worker.postMessage(manifest);
      return await promise;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      endTimer();
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      if (this.#worker === worker) this.#idle = this.#clock.after(IDLE_MS, () => void this.close());
    }
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: MAX_MIB };
    const worker =
      this.#program === undefined
        ? new Worker(new URL('./manifest-thread.ts', import.meta.url), { resourceLimits })
        : new Worker(this.#program, { resourceLimits });
    // Without a listener, an error of an idle thread would end the process.
    return worker.on('error', () => undefined);
  }
}
