import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Cancel, type Clock, type Ids, KubusError, type Logger } from '@kubus/ports';

/** Where the holding relay (relay/relay.c) lies, and its limits. */
export interface RelayOptions {
  /** The built program (scripts/build-relay.mjs). */
  readonly binary: string;
  /** An existing folder that only this service may enter: the relay's socket is created in it. */
  readonly folder: string;
  /** After the end of the caller: how long the runtime may be silent before its calls time out, in seconds. Default 300. */
  readonly idleSeconds?: number;
}

/** Thrown when the relay cannot be started, or has ended. */
export class RelayError extends KubusError {
  constructor(message: string, cause?: unknown) {
    super('RelayFailed', message, { cause });
  }
}

/** Delay before another relay is started: doubled each time, and reset after one has run. */
const FIRST_RESTART_MS = 100;
const LONGEST_RESTART_MS = 5_000;

/**
 * Keeps one relay running beside this process, at the same socket path; when it ends, another is started. The relay has
 * its own session: it outlives this process while calls that went through it are open. Killing every
 * process of a container or cgroup ends it too.
 */
export class Relay {
  readonly socket: string;
  readonly #options: RelayOptions;
  readonly #runtimeSocket: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onListening: (relay: Relay) => void;
  #child: ChildProcessWithoutNullStreams | undefined;
  #cancelRestart: Cancel | undefined;
  #restartMs = FIRST_RESTART_MS;
  #released = false;

  /** `onListening` is called each time a relay has created its socket. */
  constructor(
    options: RelayOptions,
    runtimeSocket: string,
    ports: { clock: Clock; ids: Ids; logger: Logger },
    onListening: (relay: Relay) => void,
  ) {
    this.#options = options;
    this.#runtimeSocket = runtimeSocket;
    this.#clock = ports.clock;
    this.#logger = ports.logger;
    this.#onListening = onListening;
    // A relay of an earlier process may still hold its calls: the path is never reused.
    this.socket = join(options.folder, `cri-relay-${ports.ids.hex(4)}.sock`);
    this.#start();
  }

  /**
   * The caller is done: the relay closes its connections and ends, or first waits for open calls. This
   * process need not wait with it.
   */
  release(): void {
    this.#released = true;
    this.#cancelRestart?.();
    this.#child?.stdin.destroy();
    this.#child?.stdout.destroy();
    this.#child?.stderr.destroy();
  }

  #start(): void {
    const { binary, idleSeconds = 300 } = this.#options;
    const child = spawn(binary, [this.socket, this.#runtimeSocket, String(idleSeconds)], {
      // A separate session: a signal to this process's group, or the end of a terminal, does not reach it.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.unref();
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.stdout.once('data', () => {
      this.#restartMs = FIRST_RESTART_MS;
      this.#onListening(this);
    });
    child.once('error', (error) => this.#ended(new RelayError(`cannot run the relay ${binary}`, error)));
    child.once('exit', (code, signal) =>
      this.#ended(new RelayError(`the relay ended (${signal ?? `exit status ${code ?? '?'}`}) ${said.trim()}`)),
    );
    // The relay detects the end of this process by the end of stdin; nothing is written, so nothing can fail.
    child.stdin.on('error', () => undefined);
  }

  #ended(error: RelayError): void {
    if (this.#released) {
      return;
    }
    this.#logger.error({ err: error, relay: this.#options.binary }, 'the CRI relay is not running; starting another');
    this.#cancelRestart = this.#clock.after(this.#restartMs, () => this.#start());
    this.#restartMs = Math.min(2 * this.#restartMs, LONGEST_RESTART_MS);
  }
}
