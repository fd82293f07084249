import { KubusError } from '@kubus/ports';

/** A program to run, without a shell, in a process group of its own. */
export interface Program {
  /** The path of its file, then its arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Milliseconds after which its process group is ended. */
  readonly timeoutMs: number;
  /** How much it may print (bytes), at most 1 MiB; its process group is ended when it prints more. */
  readonly stdoutLimit: number;
  /** How much of its standard error is kept (bytes), from the beginning; at most 1 MiB. */
  readonly stderrKept: number;
}

/**
 * How a program ended. `exited` and `signalled` come when it has ended and nothing holds its outputs any more; with the
 * others it was not started, or it has been ended. What left its process group may still run.
 */
export type ProgramEnd = { readonly stdout: string; readonly stderr: string } & (
  | { readonly how: 'exited'; readonly exitCode: number }
  | { readonly how: 'signalled'; readonly signal: string }
  | { readonly how: 'notStarted'; readonly reason: string }
  | { readonly how: 'timedOut' | 'printedTooMuch' }
);

/** A caller that runs programs for the owner of the socket: the shim of one call. */
export interface ProgramRunner {
  /** Whether it can be asked. */
  readonly open: boolean;
  /**
   * Runs a program; one at a time.
   *
   * @throws RunnerLostError when it went away meanwhile: the program may have run, in part or not at all, or be running.
   */
  run(program: Program): Promise<ProgramEnd>;
}

/** The caller that ran a program has gone before it told how that ended. */
export class RunnerLostError extends KubusError {
  constructor(why: string) {
    super('ProgramRunnerLost', why);
  }
}
