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
  child.stdin.on('error', () => undefined); // It need not read its input.
  child.stdin.end(program.stdin);
  const stdout = collect(child.stdout, program.stdoutLimit);
  const stderr = collect(child.stderr, program.stderrKept);

  const end = await firstEnd(child, program.timeoutMs, stdout.full);
  if (end.how === 'timedOut' || end.how === 'printedTooMuch') {
    await endGroup(child);
  }
  return { ...end, stdout: stdout.text(), stderr: stderr.text() };
}

/** The child, or why there is none. */
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

/** What comes first: the program's end, or why it has to be ended. */
function firstEnd(child: ChildProcess, timeoutMs: number, tooMuch: Promise<void>): Promise<End> {
  return new Promise((resolve) => {
    const settle = (end: End) => {
      clearTimeout(timer);
      resolve(end);
    };
    const timer = setTimeout(() => settle({ how: 'timedOut' }), timeoutMs);
    void tooMuch.then(() => settle({ how: 'printedTooMuch' }));
    // `close` comes when it has ended and nothing that it started holds its output any more.
    child.once('close', (exitCode, signal) => {
      settle(exitCode === null ? { how: 'signalled', signal: signal ?? 'a signal' } : { how: 'exited', exitCode });
    });
  });
}

async function endGroup(child: ChildProcessWithoutNullStreams): Promise<void> {
  // Until its end has been noticed, the process id is the program's and nobody else's.
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL');
    await exited;
  }
  // Something that left the group may still hold these.
  child.stdout.destroy();
  child.stderr.destroy();
}

/** Keeps what a stream delivers up to `limit` bytes and reads on, so that the writer never blocks. */
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
