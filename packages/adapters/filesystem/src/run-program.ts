import { spawn } from 'node:child_process';

/** How a program has ended, with its output. */
export interface ProgramResult {
  /** Undefined if it was killed, or could not be started. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** The error if it could not be started. */
  readonly stderr: string;
  /** It exceeded its time limit. */
  readonly timedOut: boolean;
}

/** How long to wait for the output of an ended program, which its children may hold open. */
const OUTPUT_MS = 1_000;

/**
 * Runs a program that may hang in the kernel, where it cannot be killed: after `limitMs` it gets SIGKILL with its
 * children, and is not awaited. It is killed with this process (setpriv(1), --pdeathsig), so that programs of an earlier
 * process do not affect a later one.
 */
export function runProgram(command: readonly string[], limitMs: number): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // A process group of its own.
    });
    let [stdout, stderr, timedOut] = ['', '', false];
    let code: number | undefined;
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const finish = () => {
      clearTimeout(timer);
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
      child.unref();
      resolve({ code, stdout, stderr, timedOut });
    };
    let timer = setTimeout(() => {
      timedOut = true;
      if (child.pid !== undefined) killGroup(child.pid);
      finish();
    }, limitMs);
    child.once('exit', (status) => {
      code = status ?? undefined;
      clearTimeout(timer);
      timer = setTimeout(finish, OUTPUT_MS);
    });
    child.once('close', finish);
    child.once('error', (error) => {
      stderr = error.message;
      finish();
    });
  });
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
