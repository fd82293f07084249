import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { toError } from '@kubus/ports';
import type { Program, ProgramEnd } from './program.ts';

/** Runs a program as a child of this process. */
export async function runSpawned(program: Program): Promise<ProgramEnd> {
  const child = await start(program);
  if (typeof child === 'string') {
    return { how: 'notStarted', reason: child, stdout: '', stderr: '' };
  }
  child.stdin.on('error', () => undefined); // It may leave its input unread.
  child.stdin.end(program.stdin);
  const stdout = collect(child.stdout, program.stdoutLimit);
  const stderr = collect(child.stderr, program.stderrKept);

  const end = await firstEnd(child, program.timeoutMs, stdout.full);
  if (end.how === 'timedOut' || end.how === 'printedTooMuch') {
    await endGroup(child);
  }
  return { ...end, stdout: stdout.text(), stderr: stderr.text() };
}

/** The child, or the error why it was not started. */
async function start({ argv, env }: Program): Promise<ChildProcessWithoutNullStreams | string> {
  const [file, ...args] = argv;
  try {
    const child = spawn(file, args, { detached: true, env }); // Detached: a process group of its own.
    if (child.pid === undefined) {
      const [error] = (await once(child, 'error')) as [Error];
      return error.message;
    }
    return child;
  } catch (error) {
    return toError(error).message;
  }
}

type End =
  | { readonly how: 'exited'; readonly exitCode: number }
  | { readonly how: 'signalled'; readonly signal: string }
  | { readonly how: 'timedOut' | 'printedTooMuch' };

/** Whichever comes first: the program's end, or the reason to kill it. */
function firstEnd(child: ChildProcess, timeoutMs: number, tooMuch: Promise<void>): Promise<End> {
  return new Promise((resolve) => {
    const settle = (end: End) => {
      clearTimeout(timer);
      resolve(end);
    };
    const timer = setTimeout(() => settle({ how: 'timedOut' }), timeoutMs);
    void tooMuch.then(() => settle({ how: 'printedTooMuch' }));
    // `close` is emitted when it has ended and no child holds its output any more.
    child.once('close', (exitCode, signal) => {
      settle(exitCode === null ? { how: 'signalled', signal: signal ?? 'a signal' } : { how: 'exited', exitCode });
    });
  });
}

async function endGroup(child: ChildProcessWithoutNullStreams): Promise<void> {
  // Until its end has been reaped, the PID is not reused.
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL');
    await exited;
  }
  // A process that left the group may still hold these.
  child.stdout.destroy();
  child.stderr.destroy();
}

/** Keeps up to `limit` bytes of a stream and discards the rest, so that the writer never blocks. */
function collect(stream: NodeJS.ReadableStream, limit: number): { text: () => string; full: Promise<void> } {
  const parts: Buffer[] = [];
  let kept = 0;
  const full = new Promise<void>((resolve) => {
    stream.on('data', (part: Buffer) => {
      if (kept + part.length > limit) {
        resolve();
      }
      if (kept < limit) {
        parts.push(part.subarray(0, limit - kept));
        kept = Math.min(limit, kept + part.length);
      }
    });
  });
  return { text: () => Buffer.concat(parts).toString(), full };
}
