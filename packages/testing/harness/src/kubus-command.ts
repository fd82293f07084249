import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';

/** The checkout whose programs are run. */
export const checkout = resolve(import.meta.dirname, '../../../..');
/** The command line program, as `pnpm build` makes it. */
export const kubusProgram = join(checkout, 'packages/tools/cli/dist/main.mjs');

export interface Outcome {
  /** The exit code; -1 when a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command, with its output so far. */
export interface RunningCommand {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly written: { stdout: string; stderr: string };
  readonly outcome: Promise<Outcome>;
  /** Resolves with the match once standard output has one; rejects when the command ends without it. */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>;
  /** Ends it if it is still running. */
  end(signal?: NodeJS.Signals): Promise<Outcome>;
}

/** Starts a program and collects what it writes. */
export function startCommand(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningCommand {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => (written[stream] += chunk));
  }
  const outcome = once(child, 'close').then(([code]) => ({ ...written, code: (code as number | null) ?? -1 }));
  return {
    child,
    written,
    outcome,
    waitForOutput: (pattern) =>
      new Promise((found, missing) => {
        const look = () => {
          const match = pattern.exec(written.stdout);
          if (match === null) return;
          child.stdout.off('data', look);
          found(match);
        };
        child.stdout.on('data', look);
        look();
        void outcome.then(({ code, stdout, stderr }) => {
          missing(new Error(`${args.join(' ')} ended (${code}) without ${String(pattern)}:\n${stdout}${stderr}`));
        });
      }),
    end: (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return outcome;
    },
  };
}
