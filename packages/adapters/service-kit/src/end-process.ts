import { accessSync, constants } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';

/** The program that takes this process's place to end it. */
const SHELL = '/bin/sh';
/** How long a reader of the output may take for what is still to be written, in milliseconds. */
const WRITE_MS = 1_000;
/** How long a stop may take, in milliseconds: less than the 90 s after which systemd kills. */
const STOP_MS = 30_000;

/**
 * Ends this process with an exit code, after what it has written to standard output and standard error has been taken, or a second later.
 *
 * Use it instead of `process.exit`, which waits for the threads of the JavaScript engine and sometimes waits forever
 * (docs/decisions/0015-the-end-of-a-process.md). Listeners of `exit` do not run.
 *
 * @param code from 0 to 255
 */
export async function endProcess(code: number): Promise<never> {
  const written = Promise.all([process.stdout, process.stderr].map(taken));
  await Promise.race([written, wait(WRITE_MS)]);
  return replaceByExit(code);
}

/**
 * Ends this process when `stopping` is done: with exit code 0; with 1, after a call of `failed`, when it fails or takes longer than 30 s.
 */
export async function endAfter(stopping: Promise<unknown>, failed: (error: unknown) => void): Promise<never> {
  const late = wait(STOP_MS).then(() => {
    throw new Error(`not stopped within ${STOP_MS / 1000} s`);
  });
  try {
    await Promise.race([stopping, late]);
  } catch (error) {
    failed(error);
    return endProcess(1);
  }
  return endProcess(0);
}

/** Resolves when everything has left the stream, or when its reader has closed it. */
async function taken(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0) return;
  stream.on('error', () => undefined);
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
}

/** execve(2) ends all other threads of the process without asking them. */
function replaceByExit(code: number): never {
  // What an exit would do.
  flushCompileCache();
  for (const stream of [process.stdin, process.stdout, process.stderr]) makeBlocking(stream);
  if (process.execve !== undefined && isExecutable(SHELL)) {
    // The shell complains about a working folder that is gone.
    process.chdir('/');
    process.execve(SHELL, [SHELL, '-c', `exit ${code}`], {});
  }
  process.exit(code);
}

/** Pipes are shared with other processes, such as those of a shell's pipeline, which do not expect them to be non-blocking. */
function makeBlocking(stream: object): void {
  const handle: unknown = Reflect.get(stream, '_handle');
  if (typeof handle !== 'object' || handle === null) return;
  const setBlocking: unknown = Reflect.get(handle, 'setBlocking');
  if (typeof setBlocking === 'function') Reflect.apply(setBlocking, handle, [true]);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
