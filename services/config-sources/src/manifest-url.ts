import { type Clock, KubusError, toError } from '@kubus/ports';
import type { ManifestEndpoint } from './http-source.ts';

/** Bytes. */
const MAX_SIZE = 10 * 1024 * 1024;
/** Milliseconds. */
const TIME_LIMIT = 10_000;

/** Thrown when a manifest cannot be read from its URL. */
export class ManifestUrlError extends KubusError {}

export interface ManifestUrlOptions {
  readonly url: string;
  /** Sent with each request; several values of one name follow each other. May be secret. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly clock: Clock;
}

/** Reads a manifest from a web server, within the reference's limits of time and size. */
export class ManifestUrl implements ManifestEndpoint {
  readonly url: string;
  readonly #target: URL;
  readonly #headers = new Headers();
  readonly #clock: Clock;

  constructor({ url, headers, clock }: ManifestUrlOptions) {
    this.#clock = clock;
    this.#target = new URL(url);
    const { username, password } = this.#target;
    if (username !== '' || password !== '') {
      const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      this.#headers.set('Authorization', `Basic ${Buffer.from(user).toString('base64')}`);
      this.#target.username = this.#target.password = '';
    }
    for (const [name, values] of Object.entries(headers)) for (const value of values) this.#headers.append(name, value);
    this.url = this.#target.href;
  }

  async read(): Promise<string> {
    const limit = new AbortController();
    const end = this.#clock.after(TIME_LIMIT, () => limit.abort(new Error(`no answer within ${TIME_LIMIT} ms`)));
    try {
      const response = await fetch(this.#target, { headers: this.#headers, signal: limit.signal });
      if (!response.ok) throw this.#error(`${response.status} ${response.statusText}`.trim());
      return new TextDecoder('utf-8', { fatal: true }).decode(await this.#bytes(response));
    } catch (cause) {
      if (cause instanceof ManifestUrlError) throw cause;
      // When a connection fails, `fetch` gives the reason in the cause of its error.
      const error = toError(cause);
      throw this.#error(toError(error.cause ?? error).message, cause);
    } finally {
      end();
      limit.abort();
    }
  }

  async #bytes(response: Response): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > MAX_SIZE) throw this.#error(`more than ${MAX_SIZE} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  #error(what: string, cause?: unknown): ManifestUrlError {
    return new ManifestUrlError('manifest-url', `${this.url}: ${what}`, { cause, context: { url: this.url } });
  }
}
