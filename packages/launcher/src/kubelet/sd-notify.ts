import { spawn } from 'node:child_process';
import type { Logger } from '@kubus/ports';

/** The service manager that has started this process, where there is one (sd_notify(3)). */
export interface ServiceManager {
  /** The node is up. */
  ready(): void;
  /** The node is ending. */
  stopping(): void;
  /** Says that the node is well, as often as the service manager wants to hear it, while `isWell`. */
  watch(isWell: () => boolean): void;
}

/** What the service manager tells in the environment. */
export interface NotifyEnvironment {
  readonly socket: string | undefined;
  /** How long it waits for a word of the process; undefined: it does not. */
  readonly watchdogMs: number | undefined;
}

/** Takes it out of the environment, so that no child of this process speaks for it. */
export function takeNotifyEnvironment(env: NodeJS.ProcessEnv, pid: number): NotifyEnvironment {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: micros, WATCHDOG_PID: watched } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) Reflect.deleteProperty(env, name);
  const isMeant = watched === undefined || watched === String(pid);
  const watchdogMs = isMeant && micros !== undefined && /^[1-9]\d*$/.test(micros) ? Number(micros) / 1000 : undefined;
  return { socket: socket === '' ? undefined : socket, watchdogMs };
}

/**
 * Speaks to the service manager.
 *
 * @param program the compiled sd-notify: Node has no sockets of that kind.
 */
export function notifyServiceManager(
  { socket, watchdogMs }: NotifyEnvironment,
  program: string,
  logger: Logger,
): ServiceManager {
  if (socket === undefined) {
    const nothing = () => undefined;
    return { ready: nothing, stopping: nothing, watch: nothing };
  }
  const { stdin } = spawn(program, [socket], { stdio: ['pipe', 'ignore', 'inherit'] }).on('error', (err) =>
    logger.warn({ err }, 'the service manager can not be notified'),
  );
  // One that has ended is not to take the node with it.
  stdin.on('error', (err) => logger.warn({ err }, 'the service manager can not be notified'));
  let timer: NodeJS.Timeout | undefined;
  return {
    ready: () => stdin.write('READY=1\n'),
    stopping: () => {
      clearInterval(timer);
      stdin.write('STOPPING=1\n');
    },
    watch: (isWell) => {
      if (watchdogMs === undefined) return;
      timer = setInterval(() => {
        if (isWell()) stdin.write('WATCHDOG=1\n');
        else logger.warn({}, 'not every service of the node serves: the service manager is told nothing');
      }, watchdogMs / 2);
    },
  };
}
