import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A process that stands still. */
export interface Pause {
  /** Lets it go on; resolves when it does. Harmless to repeat. */
  end(): Promise<void>;
}

/**
 * Pauses a process. Whoever lets it go on is a process of its own that waits for the end of this one, however that comes:
 * it is there before the pause begins.
 *
 * @throws when there is no such process.
 */
export async function pauseProcess(pid: number): Promise<Pause> {
  const undo = spawn('/bin/sh', ['-c', `echo; read _; kill -CONT ${pid}`], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(undo, 'exit');
  // Its first line tells that it has come to where it waits.
  await Promise.race([once(undo.stdout, 'data'), exited]);
  const end = async () => {
    undo.stdin.end();
    await exited;
  };
  try {
    process.kill(pid, 'SIGSTOP');
  } catch (error) {
    await end();
    throw error;
  }
  return { end };
}
