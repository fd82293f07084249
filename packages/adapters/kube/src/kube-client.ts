import { type Rate, TokenBucket } from '@kubus/flow';
import { type Clock, type Logger, sleep } from '@kubus/ports';
import type { IncomingMessage } from 'node:http';
import { Credentials } from './credentials.ts';
import { exchange, parseJson, readBody, readLines } from './exchange.ts';
import { rejected, unreachable } from './kube-error.ts';
import { queryText } from './kube-path.ts';
import { type MetricsSink, RestClientMetrics } from './rest-client-metrics.ts';
import { afterFailure } from './retry.ts';

const DEFAULT_TIMEOUT_MS = 30_000;

const patchTypes = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
};

type KubeQuery = Readonly<Record<string, string | number | boolean | undefined>>;

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** See `kubePath`. */
  readonly path: string;
  readonly query?: KubeQuery | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The format of a PATCH body. */
  readonly patch?: keyof typeof patchTypes | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds from its turn until there is a response, retries included. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
  /** Does not wait for its turn in the client's rate limit; used for leases. */
  readonly unlimited?: boolean | undefined;
}

/** The part of a client that most code uses. */
export interface KubeRequester {
  /**
   * Resolves with the response: parsed when it is JSON, anything else as text.
   * @throws KubeError
   */
  request(request: KubeRequest): Promise<unknown>;
}

export interface KubeWatch {
  readonly path: string;
  readonly query?: KubeQuery | undefined;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Called when the server has accepted the watch. */
  readonly opened?: (() => void) | undefined;
  /** Called with each event, parsed. An error that it throws ends the watch. */
  readonly event: (event: unknown) => void;
}

/** The part of a client that a {@link Reflector} uses. */
export interface KubeWatcher extends KubeRequester {
  /**
   * Resolves when the server ends the watch.
   * @throws KubeError when the watch is refused or breaks, or `signal` aborts
   */
  watch(watch: KubeWatch): Promise<void>;
}

export interface KubeClientOptions {
  readonly kubeconfig: string;
  readonly userAgent: string;
  /** The rate limit of requests. Omitted: no limit. */
  readonly rate?: Rate | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Omitted: requests are not counted. */
  readonly metrics?: MetricsSink | undefined;
}

/**
 * The only access to the API server: JSON over connections that are kept open. Requests wait for their turn in the client's rate
 * limit; {@link afterFailure} decides what is retried without the caller.
 */
export class KubeClient implements KubeWatcher {
  readonly #options: KubeClientOptions;
  readonly #credentials: Credentials;
  readonly #turns: TokenBucket | undefined;
  readonly #metrics: RestClientMetrics | undefined;
  readonly #closed = new AbortController();
  /** The server of the last request. */
  #host = '';

  /** Resolves when the kubeconfig can be read, however long that takes; the server need not answer. */
  static async open(options: KubeClientOptions & { readonly signal?: AbortSignal | undefined }): Promise<KubeClient> {
    return new KubeClient(options, await Credentials.open(options));
  }

  private constructor(options: KubeClientOptions, credentials: Credentials) {
    this.#options = options;
    this.#credentials = credentials;
    this.#metrics = options.metrics && new RestClientMetrics(options.metrics);
    this.#turns = options.rate && new TokenBucket(options.rate);
  }

  async request(request: KubeRequest): Promise<unknown> {
    const signal = this.#signalOf(request);
    if (request.unlimited !== true) await this.#turn(request.method, signal);
    return this.#tries(request, signal, async (limit) => {
      const { response, host } = await this.#open(request, limit);
      return readBody(response, (bytes) => this.#metrics?.received(request.method, host, bytes));
    });
  }

  async watch({ path, query, signal: given, opened, event }: KubeWatch): Promise<void> {
    const signal = this.#signalOf({ signal: given });
    const request = { method: 'GET', path, query: { ...query, watch: true } } as const;
    await this.#turn(request.method, signal);
    const { response } = await this.#tries(request, signal, (limit) => this.#open(request, limit, true));
    try {
      opened?.();
      await readLines(response, (line) => event(parseJson(line)));
    } catch (thrown) {
      throw unreachable(`WATCH ${path}`, thrown);
    } finally {
      response.destroy();
    }
  }

  /** Ends all requests and watches. */
  close(): Promise<void> {
    this.#closed.abort();
    this.#credentials.close();
    return Promise.resolve();
  }

  #signalOf({ signal }: { readonly signal?: AbortSignal | undefined }): AbortSignal {
    return signal === undefined ? this.#closed.signal : AbortSignal.any([this.#closed.signal, signal]);
  }

  async #turn(method: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const waitMs = this.#turns?.reserve(clock.now(), Number.POSITIVE_INFINITY) ?? 0;
    if (this.#host !== '') this.#metrics?.waited(method, this.#host, waitMs);
    if (waitMs > 0) await sleep(clock, waitMs, signal);
  }

  /** Sends the request until it succeeds, or fails finally. */
  async #tries<T>(request: KubeRequest, signal: AbortSignal, run: (limit: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const { method, timeoutMs = DEFAULT_TIMEOUT_MS } = request;
    const what = nameOf(request);
    const until = clock.now() + timeoutMs;
    let renewed = false;
    for (let tries = 1; ; tries++) {
      const limit = new AbortController();
      const end = clock.after(until - clock.now(), () => limit.abort(new Error(`no answer within ${timeoutMs} ms`)));
      try {
        signal.throwIfAborted();
        return await run(AbortSignal.any([signal, limit.signal]));
      } catch (thrown) {
        const error = unreachable(what, limit.signal.aborted ? limit.signal.reason : thrown);
        const next = afterFailure({ method, error, tries, renewed, leftMs: until - clock.now() });
        if (next.do === 'fail' || signal.aborted) throw error;
        if (next.do === 'renew') {
          renewed = true;
          await this.#credentials.renew();
        } else {
          await sleep(clock, next.afterMs, signal);
        }
      } finally {
        end();
      }
    }
  }

  /** The head of a successful response. The signal ends its body as well. */
  async #open(
    request: KubeRequest,
    signal: AbortSignal,
    stream = false,
  ): Promise<{ response: IncomingMessage; host: string }> {
    const { method, path, query, body, patch } = request;
    const access = await this.#credentials.current();
    const { host } = access.server;
    const text = body === undefined ? undefined : JSON.stringify(body);
    this.#host = host;
    const { clock } = this.#options;
    const began = clock.now();
    const counted = (status: number | undefined) =>
      this.#metrics?.sent({ method, host, status, tookMs: clock.now() - began, bytes: Buffer.byteLength(text ?? '') });
    const response = await exchange(access, {
      method,
      path: path + queryText(query),
      headers: {
        Accept: 'application/json',
        'User-Agent': this.#options.userAgent,
        ...(body !== undefined && { 'Content-Type': patch === undefined ? 'application/json' : patchTypes[patch] }),
      },
      body: text,
      signal,
      stream,
    }).catch((error: unknown) => {
      counted(undefined);
      throw error;
    });
    const { statusCode = 0, headers } = response;
    counted(statusCode);
    if (statusCode >= 200 && statusCode < 300) return { response, host };
    throw rejected(nameOf(request), statusCode, await readBody(response), headers['retry-after']);
  }
}

function nameOf({ method, path, query }: KubeRequest): string {
  return `${query?.watch === true ? 'WATCH' : method} ${path}`;
}
