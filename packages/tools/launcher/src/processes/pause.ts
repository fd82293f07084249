import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A paused process. */
export interface Pause {
  /** Continues the process; resolves when it runs again. Harmless to repeat. */
  end(): Promise<void>;
}

/**
 * Pauses a process with SIGSTOP. A helper process, started before the pause, sends SIGCONT when the pause ends or this process dies in
 * any way.
 *
 * @throws when there is no such process.
 */
export async function pauseProcess(pid: number): Promise<Pause> {
  const undo = spawn('/bin/sh', ['-c', `echo; read _; kill -CONT ${pid}`], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(undo, 'exit');
  // Its first line says that it is waiting.
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
