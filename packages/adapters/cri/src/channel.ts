import {
  Client,
  type ClientOptions,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
  connectivityState,
  credentials,
} from '@grpc/grpc-js';
import type { Clock } from '@kubus/ports';
import { type CallSubject, CriError, criError } from './errors.ts';

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

const CHANNEL_OPTIONS: ClientOptions = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  // Lists of a full node exceed HTTP/2's default window of 64 KiB: without this each 64 KiB cost a round trip.
  'grpc-node.flow_control_window': 1024 * 1024,
  // Reconnects for ever, with at most this delay in milliseconds; the library adds 20 % of jitter.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // An idle connection is kept open. 2^31-1, the maximum (24 days).
  'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
  // Retries are decided by the caller.
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  // Two channels to one socket use two connections, also in one process.
  'grpc.use_local_subchannel_pool': 1,
};

/**
 * One gRPC connection over a unix socket: bytes in, bytes out. Connects by itself, and reconnects after each loss, for
 * ever.
 */
export class Channel {
  readonly #client: Client;
  readonly #open = new Set<{ cancel(): void }>();
  readonly #clock: Clock;
  readonly #onReady: (ready: boolean) => void;
  #closed = false;

  /** `onReady` is called with whether the connection exists, when that is first known and after each attempt or change. */
  constructor(socket: string, clock: Clock, onReady: (ready: boolean) => void) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), CHANNEL_OPTIONS);
    this.#clock = clock;
    this.#onReady = onReady;
    this.#watch(undefined);
  }

  /**
   * One request, one response. `deadlineMs` counts from the call; undefined: no limit. Throws a CriError; when there is no
   * connection, immediately and with 'Unavailable'.
   */
  unary<Response>(
    path: string,
    request: Buffer,
    decode: (bytes: Buffer) => Response,
    subject: CallSubject,
    options: { deadlineMs: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      if (this.#closed || options.signal?.aborted) {
        const why = this.#closed ? 'the client is closed' : 'cancelled by the caller';
        reject(new CriError('Cancelled', why, subject, options.signal?.reason));
        return;
      }
      const deadline = options.deadlineMs === undefined ? Infinity : this.#clock.now() + options.deadlineMs;
      const onAbort = () => call.cancel();
      const onEnd = (error: ServiceError | null, response?: Response) => {
        this.#open.delete(call);
        options.signal?.removeEventListener('abort', onAbort);
        if (error !== null) reject(criError(error, subject));
        else resolve(response as Response);
      };
      const call = withoutStack(() =>
        this.#client.makeUnaryRequest(path, passBytes, decode, request, new Metadata(), { deadline }, onEnd),
      );
      this.#open.add(call);
      options.signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** A stream of responses to one request. Resolves with the reason when it has ended; `signal` ends it. */
  async serverStream<Response>(
    path: string,
    request: Buffer,
    decode: (bytes: Buffer) => Response,
    subject: CallSubject,
    options: { onMessage: (message: Response) => void; signal: AbortSignal },
  ): Promise<CriError> {
    if (this.#closed || options.signal.aborted) {
      return new CriError('Cancelled', 'the stream was cancelled by its reader', subject);
    }
    const call: ClientReadableStream<Response> = this.#client.makeServerStreamRequest(path, passBytes, decode, request);
    const onAbort = () => call.cancel();
    options.signal.addEventListener('abort', onAbort, { once: true });
    this.#open.add(call);
    try {
      return await new Promise((resolve) => {
        call.on('data', options.onMessage);
        call.on('error', (error: ServiceError) => resolve(criError(error, subject)));
        call.on('end', () => resolve(new CriError('Unavailable', 'the runtime ended the stream', subject)));
      });
    } finally {
      this.#open.delete(call);
      options.signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Disconnects; `onReady` is not called any more. Open calls are cancelled, unless `leaveOpen` is set: then they fail when the
   * other side closes the connection.
   */
  close(options: { leaveOpen: boolean }): void {
    this.#closed = true;
    if (!options.leaveOpen) {
      for (const call of this.#open) {
        call.cancel();
      }
    }
    this.#client.close();
  }

  /** Follows the connection's state; querying it also makes a disconnected channel reconnect. */
  #watch(before: connectivityState | undefined): void {
    if (this.#closed) {
      return;
    }
    const channel = this.#client.getChannel();
    const state = channel.getConnectivityState(true);
    if (state === connectivityState.READY) {
      this.#onReady(true);
    } else if (state === connectivityState.TRANSIENT_FAILURE || before === connectivityState.READY) {
      this.#onReady(false);
    }
    channel.watchConnectivityState(state, Infinity, () => this.#watch(state));
  }
}

/** The library makes an error for each call in advance, for its stack. A CriError names the call, and where it was awaited. */
function withoutStack<T>(action: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return action();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const passBytes = (bytes: Buffer): Buffer => bytes;
