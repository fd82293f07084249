import { KubusError } from '@kubus/ports';

/** A program to run, without a shell, in a process group of its own. */
export interface Program {
  /** The path of its file, then its arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Milliseconds after which its process group is killed. */
  readonly timeoutMs: number;
  /** Limit of its standard output in bytes, at most 1 MiB; its process group is killed when it prints more. */
  readonly stdoutLimit: number;
  /** How much of its standard error is kept (bytes), from the beginning; at most 1 MiB. */
  readonly stderrKept: number;
}

/**
 * How a program ended. `exited` and `signalled`: it has ended and no process holds its outputs any more; the others: it
 * was not started, or it was killed. Processes that left its process group may still be running.
 */
export type ProgramEnd = { readonly stdout: string; readonly stderr: string } & (
  | { readonly how: 'exited'; readonly exitCode: number }
  | { readonly how: 'signalled'; readonly signal: string }
  | { readonly how: 'notStarted'; readonly reason: string }
  | { readonly how: 'timedOut' | 'printedTooMuch' }
);

/** A caller that runs programs for the server of the socket: the shim of one call. */
export interface ProgramRunner {
  /** Whether it can run programs. */
  readonly open: boolean;
  /**
   * Runs a program; one at a time.
   *
   * @throws RunnerLostError when it was lost meanwhile: the program may be running, or have run completely, partly or not
   * at all.
   */
  run(program: Program): Promise<ProgramEnd>;
}

/** Thrown when the caller that ran a program has ended before it reported how the program ended. */
export class RunnerLostError extends KubusError {
  constructor(why: string) {
    super('ProgramRunnerLost', why);
  }
}
