import { ApiError, errorOfResponse } from './api-error.ts';
import { readEvents } from './event-stream.ts';

interface Request {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The client of the observatory that served this page. */
export class Api {
  readonly #base = '/api/v1';
  readonly #token: string | undefined;

  constructor(token: string | undefined) {
    this.#token = token;
  }

  /** @throws ApiError */
  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const response = await this.#send(path, signal === undefined ? {} : { signal });
    return (await response.json()) as T;
  }

  /** @throws ApiError */
  async post(path: string, document?: object): Promise<void> {
    await this.#send(path, {
      method: 'POST',
      ...(document !== undefined && {
        body: JSON.stringify(document),
        headers: { 'content-type': 'application/json' },
      }),
    });
  }

  /** @throws ApiError */
  async remove(path: string): Promise<void> {
    await this.#send(path, { method: 'DELETE' });
  }

  /** @throws ApiError */
  async upload(path: string, file: Blob): Promise<void> {
    await this.#send(path, { method: 'PUT', body: file, headers: { 'content-type': 'application/octet-stream' } });
  }

  /** A link could not carry the token, so the page itself loads the file. @throws ApiError */
  async download(path: string): Promise<Blob> {
    const response = await this.#send(path, {});
    return response.blob();
  }

  /** The data of each server-sent event until the stream ends. @throws ApiError */
  async *events(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.#send(path, { signal, headers: { accept: 'text/event-stream' } });
    if (response.body === null) return;
    yield* readEvents(response.body.pipeThrough(new TextDecoderStream()));
  }

  async #send(path: string, { headers, ...request }: Request): Promise<Response> {
    const authorization: Record<string, string> =
      this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    let response: Response;
    try {
      response = await fetch(`${this.#base}${path}`, { ...request, headers: { ...authorization, ...headers } });
    } catch (error) {
      if (request.signal?.aborted === true) throw error;
      throw new ApiError(0, 'unreachable', 'the observatory does not answer', error);
    }
    if (!response.ok) throw errorOfResponse(response.status, await response.text());
    return response;
  }
}
