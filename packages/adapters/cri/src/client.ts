import { type Clock, type Ids, type Logger, sleep } from '@kubus/ports';
import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';
import { criCodecs } from '@kubus/proto/cri-grpc';
import { Channel } from './channel.ts';
import { ConnectionState, type CriConnection } from './connection-state.ts';
import { type ContainerEventsListener, followContainerEvents } from './container-events.ts';
import { defaultDeadlineMs } from './deadlines.ts';
import { type CallSubject, CriError } from './errors.ts';
import { isHeld } from './held-methods.ts';
import { Relay, type RelayOptions } from './relay.ts';

/** Delay between two requests to a connected runtime that does not answer yet, in milliseconds. */
const FIRST_GREETING_MS = 20;
const LONGEST_GREETING_MS = 1_000;
const GREETING_DEADLINE_MS = 10_000;

export interface CriClientOptions {
  /** The runtime's socket, such as /run/containerd/containerd.sock. It need not exist yet. */
  readonly socket: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: Ids;
  /** With this option, calls that change something survive the end of this process (held-methods.ts). */
  readonly relay?: RelayOptions;
}

interface CallOptions {
  /** Milliseconds; undefined: no limit. */
  readonly deadlineMs: number | undefined;
  /** Cancels the call; the runtime may have carried it out in part. */
  readonly signal?: AbortSignal;
}

export interface CriClient {
  /**
   * Calls the runtime with the JSON form of a request and returns that of its response. Without `options` the deadline is
   * the method's own (defaultDeadlineMs). Throws CriError only; while the connection is lost, immediately ('Unavailable').
   */
  call<M extends UnaryCriMethod>(
    method: M,
    request: CriMethods[M]['request'],
    options?: CallOptions,
  ): Promise<CriMethods[M]['response']>;
  readonly connection: CriConnection;
  /** How often each method was called since the start, successfully or not. */
  readonly counts: ReadonlyMap<UnaryCriMethod, number>;
  /** Calls the listener with the current state and on each change. Returns the function that ends it. */
  watchConnection(listener: (connection: CriConnection) => void): () => void;
  /** Follows starts and ends of containers and sandboxes, again after each loss. Returns the function that ends it. */
  containerEvents(listener: ContainerEventsListener): () => void;
  /**
   * Disconnects and ends all watches. Calls in flight fail; those that went through the relay are nevertheless carried
   * out by the runtime.
   */
  close(): void;
}

/** A client of one runtime. Connects in the background; an unavailable runtime is a state, not an error. */
export function connectCri(options: CriClientOptions): CriClient {
  return new Connection(options);
}

class Connection implements CriClient {
  readonly counts = new Map<UnaryCriMethod, number>();
  readonly #options: CriClientOptions;
  readonly #closing = new AbortController();
  /** For reads and streams; for all calls when there is no relay. */
  readonly #direct: Channel;
  #greeting = new AbortController();
  readonly #relay: Relay | undefined;
  /** Through the relay, once it listens. */
  #held: Channel | undefined;
  readonly #state: ConnectionState<'direct' | 'held'>;

  constructor(options: CriClientOptions) {
    const { socket, clock, relay } = options;
    this.#options = options;
    this.#state = new ConnectionState(relay === undefined ? ['direct'] : ['direct', 'held']);
    this.#direct = new Channel(socket, clock, (ready) => this.#onDirectReady(ready));
    this.#relay = relay && new Relay(relay, socket, options, (made) => this.#onRelayListening(made));
  }

  async call<M extends UnaryCriMethod>(
    method: M,
    request: CriMethods[M]['request'],
    options: CallOptions = { deadlineMs: defaultDeadlineMs(method, request) },
  ): Promise<CriMethods[M]['response']> {
    this.counts.set(method, (this.counts.get(method) ?? 0) + 1);
    const codec = criCodecs[method];
    const subject = subjectOf(method, request);
    const channel = this.#relay !== undefined && isHeld(method) ? this.#held : this.#direct;
    if (channel === undefined) {
      throw new CriError('Unavailable', 'the relay to the runtime is not running yet', subject);
    }
    let bytes: Buffer;
    try {
      bytes = codec.encodeRequest(request);
    } catch (error) {
      throw new CriError('InvalidArgument', 'the request cannot be encoded', subject, error);
    }
    return channel.unary(codec.path, bytes, codec.decodeResponse, subject, options);
  }

  get connection(): CriConnection {
    return this.#state.current;
  }

  watchConnection(listener: (connection: CriConnection) => void): () => void {
    return this.#state.watch(listener);
  }

  containerEvents(listener: ContainerEventsListener): () => void {
    const { clock, ids, logger } = this.#options;
    const stop = new AbortController();
    const onClose = () => stop.abort();
    this.#closing.signal.addEventListener('abort', onClose, { once: true });
    void followContainerEvents(this.#direct, listener, { clock, ids, logger, signal: stop.signal });
    return () => {
      this.#closing.signal.removeEventListener('abort', onClose);
      stop.abort();
    };
  }

  close(): void {
    this.#closing.abort();
    this.#greeting.abort();
    this.#state.close();
    // Cancelling an open call would cancel it at the runtime too; so the relay closes the connection.
    this.#held?.close({ leaveOpen: true });
    this.#relay?.release();
    this.#direct.close({ leaveOpen: false });
  }

  #onRelayListening(relay: Relay): void {
    // A relay that replaces the first one has the same path, and the channel reconnects by itself.
    this.#held ??= new Channel(relay.socket, this.#options.clock, (ready) => this.#state.set('held', ready));
  }

  #onDirectReady(ready: boolean): void {
    this.#greeting.abort();
    this.#greeting = new AbortController();
    if (ready) {
      void this.#greet(this.#greeting.signal);
    } else {
      this.#state.set('direct', false);
    }
  }

  /** A starting runtime accepts connections before it can answer: repeats the request until it does. */
  async #greet(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const wanted = () => !signal.aborted;
    for (let pauseMs = FIRST_GREETING_MS; wanted(); pauseMs = Math.min(2 * pauseMs, LONGEST_GREETING_MS)) {
      try {
        await this.call('Version', {}, { deadlineMs: GREETING_DEADLINE_MS, signal });
        this.#state.set('direct', true);
        return;
      } catch (error) {
        if (wanted()) {
          this.#state.set('direct', false);
          logger.info({ err: error }, 'the container runtime does not answer yet');
          await sleep(clock, pauseMs, signal);
        }
      }
    }
  }
}

/** The IDs in a request, for errors. */
function subjectOf(method: string, request: object): CallSubject {
  const { podSandboxId, containerId } = request as { podSandboxId?: unknown; containerId?: unknown };
  return {
    method,
    ...(typeof podSandboxId === 'string' && { podSandboxId }),
    ...(typeof containerId === 'string' && { containerId }),
  };
}
