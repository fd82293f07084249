import type { Socket } from 'node:net';
import { FrameError, FrameReader } from './frame.ts';
import { type Program, type ProgramEnd, type ProgramRunner, RunnerLostError } from './program.ts';
import { encodeProgram, readProgramEnd } from './shim-messages.ts';

/** Milliseconds beyond a program's own limit after which a shim without an answer counts as lost. */
const GRACE_MS = 5_000;

interface Run {
  readonly reader: FrameReader;
  readonly settle: (end: ProgramEnd | RunnerLostError) => void;
}

/** The connection to a shim during its call: the shim runs programs until it gets its answer. */
export class ShimLink implements ProgramRunner {
  readonly #connection: Socket;
  #run: Run | undefined;
  #lost: RunnerLostError | undefined;
  #idle: Promise<unknown> = Promise.resolve();

  constructor(connection: Socket) {
    this.#connection = connection;
  }

  get open(): boolean {
    return this.#lost === undefined && this.#run === undefined;
  }

  async run(program: Program): Promise<ProgramEnd> {
    if (this.#lost !== undefined) {
      throw this.#lost;
    }
    const frame = tryEncode(program);
    if (frame instanceof FrameError) {
      return { how: 'notStarted', reason: frame.message, stdout: '', stderr: '' };
    }
    const { promise, resolve } = Promise.withResolvers<ProgramEnd | RunnerLostError>();
    this.#run = { reader: new FrameReader(), settle: resolve };
    this.#idle = promise;
    this.#connection.write(frame);
    const timer = setTimeout(() => this.#giveUp(), program.timeoutMs + GRACE_MS);
    const end = await promise;
    clearTimeout(timer);
    if (end instanceof RunnerLostError) {
      throw end;
    }
    return end;
  }

  /** Resolves when no program is running: an answer must not arrive during a run. */
  async idle(): Promise<void> {
    await this.#idle;
  }

  /**
   * Handles data that the shim sends after its request.
   *
   * @throws FrameError when nothing is expected, or it is not the result of a program.
   */
  take(part: Buffer): void {
    const run = this.#run;
    if (run === undefined) {
      throw new FrameError('bytes follow the request');
    }
    const fields = run.reader.push(part);
    if (fields !== undefined) {
      const end = readProgramEnd(fields);
      this.#run = undefined;
      run.settle(end);
    }
  }

  /** The shim does not answer any more. */
  lose(why: string): void {
    this.#lost ??= new RunnerLostError(why);
    this.#run?.settle(this.#lost);
    this.#run = undefined;
  }

  #giveUp(): void {
    this.lose('it did not report the result of the program in time');
    this.#connection.destroy();
  }
}

function tryEncode(program: Program): Buffer | FrameError {
  try {
    return encodeProgram(program);
  } catch (error) {
    if (error instanceof FrameError) {
      return error;
    }
    throw error;
  }
}
