import {
  type ContainerEventsListener,
  type ContainerHint,
  type CriCode,
  type CriConnection,
  CriError,
} from '@kubus/cri';
import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';
import type { Runtime } from '../src/index.ts';

type Request<M extends UnaryCriMethod> = CriMethods[M]['request'];
type Response<M extends UnaryCriMethod> = CriMethods[M]['response'];
type Answer<M extends UnaryCriMethod> = (request: Request<M>) => Response<M> | Promise<Response<M>>;

/** A runtime that answers as the test defines, and records its calls. */
export class ScriptedRuntime implements Runtime {
  readonly calls: { readonly method: UnaryCriMethod; readonly request: object }[] = [];
  connection: CriConnection = 'connected';
  readonly #answers = new Map<UnaryCriMethod, (request: object) => object | Promise<object>>();
  readonly #connectionListeners = new Set<(connection: CriConnection) => void>();
  #events: ContainerEventsListener | undefined;

  /** From now on `method` is answered by this. A method without an answer fails. */
  on<M extends UnaryCriMethod>(method: M, answer: Answer<M>): this {
    this.#answers.set(method, answer);
    return this;
  }

  /** The methods that were called, and how often. */
  count(method: UnaryCriMethod): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  async call<M extends UnaryCriMethod>(method: M, request: Request<M>): Promise<Response<M>> {
    this.calls.push({ method, request });
    const answer = this.#answers.get(method);
    if (answer === undefined) throw new Error(`unexpected call of ${method}`);
    return await answer(request);
  }

  watchConnection(listener: (connection: CriConnection) => void): () => void {
    this.#connectionListeners.add(listener);
    listener(this.connection);
    return () => this.#connectionListeners.delete(listener);
  }

  /** The number of listeners of the connection. */
  get connectionListeners(): number {
    return this.#connectionListeners.size;
  }

  setConnection(connection: CriConnection): void {
    this.connection = connection;
    for (const listener of this.#connectionListeners) listener(connection);
  }

  containerEvents(listener: ContainerEventsListener): () => void {
    this.#events = listener;
    return () => (this.#events = undefined);
  }

  stream(state: 'streaming' | 'lost' | 'none'): void {
    if (state === 'streaming') this.#events?.onState({ state, source: 'containerd' });
    else if (state === 'none') this.#events?.onState({ state });
    else this.#events?.onState({ state, error: failure('Unavailable', 'the stream ended') });
  }

  hint(containerId: string, kind: ContainerHint['kind'], podUid?: string, states?: ContainerHint['states']): void {
    const at = '2030-01-01T00:00:00.000000000Z';
    const known = { ...(podUid !== undefined && { podUid }), ...(states !== undefined && { states }) };
    this.#events?.onHint({ containerId, kind, at, ...known });
  }
}

/** The error of a failed call. */
export function failure(code: CriCode, details: string): CriError {
  return new CriError(code, details, { method: 'test' });
}
