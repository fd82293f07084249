import { spawn } from 'node:child_process';

/** How a program has ended, and what it has said. */
export interface ProgramResult {
  /** Undefined when it was ended, or could not be started. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** For one that could not be started: why. */
  readonly stderr: string;
  /** It took longer than it may. */
  readonly timedOut: boolean;
}

/** How long the output of a program is waited for that has ended: what it has left behind may hold it open. */
const OUTPUT_MS = 1_000;

/**
 * Runs a program that may hang in the kernel, where nothing ends it: after `limitMs` it is killed with all that it has
 * started, and not waited for. It dies with this process (setpriv(1), --pdeathsig): what a later life sees is not changed
 * by an earlier one's programs.
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
    // It has ended by itself.
  }
}
