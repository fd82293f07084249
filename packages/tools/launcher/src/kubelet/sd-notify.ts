import { spawn } from 'node:child_process';
import type { Logger } from '@kubus/ports';

/** How long a start may take altogether, how much time is asked for at once, and how often, in milliseconds. */
const START_MS = 600_000;
const EXTEND_MS = 60_000;
const EXTEND_EVERY_MS = 15_000;

/** The service manager that has started this process, such as systemd (sd_notify(3)). */
export interface ServiceManager {
  /** Asks for more time to start, again and again until {@link ready} or {@link stopping}, for at most ten minutes. */
  starting(): void;
  /** Reports READY=1. */
  ready(): void;
  /** Reports STOPPING=1. */
  stopping(): void;
  /** Reports WATCHDOG=1 at half the watchdog's interval while `isHealthy` resolves to true. */
  watch(isHealthy: () => Promise<boolean>): void;
}

/** The service manager's environment variables. */
export interface NotifyEnvironment {
  readonly socket: string | undefined;
  /** Interval of the watchdog in milliseconds; undefined: it is off. */
  readonly watchdogMs: number | undefined;
}

/** Reads the variables and removes them from `env`, so that no child process notifies the service manager. */
export function takeNotifyEnvironment(env: NodeJS.ProcessEnv, pid: number): NotifyEnvironment {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: micros, WATCHDOG_PID: watched } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) Reflect.deleteProperty(env, name);
  const isForUs = watched === undefined || watched === String(pid);
  const watchdogMs = isForUs && micros !== undefined && /^[1-9]\d*$/.test(micros) ? Number(micros) / 1000 : undefined;
  return { socket: socket === '' ? undefined : socket, watchdogMs };
}

/**
 * Sends notifications to the service manager; does nothing when there is none.
 *
 * @param program path of the compiled sd-notify: Node.js has no datagram unix sockets.
 */
export function notifyServiceManager(
  { socket, watchdogMs }: NotifyEnvironment,
  program: string,
  logger: Logger,
): ServiceManager {
  if (socket === undefined) {
    const nothing = () => undefined;
    return { starting: nothing, ready: nothing, stopping: nothing, watch: nothing };
  }
  const { stdin } = spawn(program, [socket], { stdio: ['pipe', 'ignore', 'inherit'] }).on('error', (err) =>
    logger.warn({ err }, 'cannot notify the service manager'),
  );
  // Without a handler, the end of sd-notify would end this process.
  stdin.on('error', (err) => logger.warn({ err }, 'cannot notify the service manager'));
  let timer: NodeJS.Timeout | undefined;
  let stopping = false;
  return {
    starting: () => {
      let left = START_MS / EXTEND_EVERY_MS;
      const extend = () => {
        stdin.write(`EXTEND_TIMEOUT_USEC=${EXTEND_MS * 1000}\n`);
        left -= 1;
        if (left <= 0) clearInterval(timer);
      };
      timer = setInterval(extend, EXTEND_EVERY_MS);
      extend();
    },
    ready: () => {
      clearInterval(timer);
      stdin.write('READY=1\n');
    },
    stopping: () => {
      stopping = true;
      clearInterval(timer);
      stdin.write('STOPPING=1\n');
    },
    watch: (isHealthy) => {
      if (watchdogMs === undefined) return;
      const ping = async () => {
        const healthy = await isHealthy();
        if (stopping) return;
        if (healthy) stdin.write('WATCHDOG=1\n');
        else logger.warn({}, 'the node is not healthy: skipping the watchdog notification');
      };
      timer = setInterval(() => void ping(), watchdogMs / 2);
    },
  };
}
