import { KubusError, toError } from '@kubus/ports';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** How long systemd may take to answer, in milliseconds. */
const ANSWER_MS = 10_000;
const LOGIND = 'org.freedesktop.login1';
const OBJECT = '/org/freedesktop/login1';
const MANAGER = 'org.freedesktop.login1.Manager';
/** As the reference has it, so that the two do not contradict each other. */
const DROP_IN = '99-kubelet.conf';

/** systemd's logind did not do what was asked. */
class LogindError extends KubusError {}

/** Something that is held as long as a child process lives. It ends with this process, too. */
export interface Held {
  /** Resolves when it is lost or released. */
  readonly ended: Promise<void>;
  release(): void;
}

/** Shutdowns of the machine, as systemd's logind announces and delays them. */
export interface Logind {
  /** How long logind waits for those who delay a shutdown, in milliseconds. */
  delayMs(): Promise<number>;
  /** Asks logind to wait at least so long; it does so a little later. Kept by a file, as the reference keeps it. */
  raiseDelay(ms: number): Promise<void>;
  /** Whether a shutdown has begun. */
  isShuttingDown(): Promise<boolean>;
  /** Delays the next shutdown until it is released (an inhibitor lock). */
  inhibit(): Promise<Held>;
  /** Calls the listener with each start (true) and each cancellation (false) of a shutdown from now on. */
  watch(listener: (shuttingDown: boolean) => void): Promise<Held>;
}

/**
 * logind on the machine's system bus, through the programs that come with it: `busctl` and `systemd-inhibit`. They are asked only at the
 * start and when something has changed.
 *
 * @param options.configFolder where the files are that change logind's configuration
 * @param options.env the programs' environment, which may name another bus (DBUS_SYSTEM_BUS_ADDRESS)
 */
export function systemLogind({
  configFolder = '/etc/systemd/logind.conf.d',
  env = process.env,
}: { configFolder?: string; env?: NodeJS.ProcessEnv } = {}): Logind {
  const property = (name: string, type: string) => readProperty(env, name, type);
  return {
    delayMs: async () => Number(await property('InhibitDelayMaxUSec', 't')) / 1000,
    isShuttingDown: async () => (await property('PreparingForShutdown', 'b')) === 'true',
    raiseDelay: async (ms) => {
      await mkdir(configFolder, { recursive: true, mode: 0o755 });
      const content = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.ceil(ms / 1000)}\n`;
      await writeFile(join(configFolder, DROP_IN), content, { mode: 0o644 });
      const systemd = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];
      // SIGHUP makes it read its files again.
      await busctl(env, 'call', ...systemd, 'KillUnit', 'ssi', 'systemd-logind.service', 'all', '1');
    },
    inhibit: () => {
      const why = 'Kubelet needs time to handle node shutdown';
      const lock = ['--what=shutdown', '--mode=delay', '--who=kubelet', `--why=${why}`];
      // The program inside runs once the lock is held, and until its input, which is ours, ends.
      return hold(env, 'systemd-inhibit', [...lock, 'sh', '-c', 'echo held; exec cat'], (line) => line === 'held');
    },
    watch: (listener) => {
      // Anybody may send such a signal on the bus: only logind's counts.
      const match = `type='signal',sender='${LOGIND}',path='${OBJECT}',interface='${MANAGER}',member='PrepareForShutdown'`;
      const onLine = (line: string) => {
        const value = shutdownSignal(line);
        if (value !== undefined) listener(value);
        return false;
      };
      const monitor = ['busctl', ...BUS, '--json=short', `--match=${match}`, 'monitor'];
      return hold(env, 'sh', ['-c', UNTIL_INPUT_ENDS, 'sh', ...monitor], onLine, MONITOR_MS);
    },
  };
}

/** busctl monitors after this time, in milliseconds, if it has neither ended nor reported that it does. */
const MONITOR_MS = 3_000;

/** Becomes the program of its arguments, and ends it when the input ends: busctl itself would outlive this process. */
const UNTIL_INPUT_ENDS = 'exec 3<&0; { cat <&3 >/dev/null; kill $$; } & exec "$@" 3<&-';

const BUS = ['--system', '--no-pager'];

async function busctl(env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  try {
    return (await execute('busctl', [...BUS, ...args], { env, timeout: ANSWER_MS })).stdout.trim();
  } catch (cause) {
    throw new LogindError('logind', `busctl ${args.join(' ')}: ${toError(cause).message.trim()}`, { cause });
  }
}

/** A property of logind, of a type. */
async function readProperty(env: NodeJS.ProcessEnv, name: string, type: string): Promise<string> {
  const [found, value] = (await busctl(env, 'get-property', LOGIND, OBJECT, MANAGER, name)).split(' ');
  if (found !== type || value === undefined) throw new LogindError('logind', `logind's ${name} is not of type ${type}`);
  return value;
}

/** What a line of `busctl monitor` says; undefined: nothing about shutdowns. */
function shutdownSignal(line: string): boolean | undefined {
  try {
    const { member, payload } = JSON.parse(line) as { member?: unknown; payload?: { data?: unknown } };
    const [value] = Array.isArray(payload?.data) ? (payload.data as unknown[]) : [];
    return member === 'PrepareForShutdown' && typeof value === 'boolean' ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Starts a program and resolves when it is ready: when `onLine` returns true for a line of its output, or, of one with `readyMs`, when it
 * reports it on its standard error or has run for `readyMs` milliseconds. It ends when its input does, or at the latest with SIGTERM.
 *
 * @throws LogindError when it ends before.
 */
async function hold(
  env: NodeJS.ProcessEnv,
  program: string,
  args: readonly string[],
  onLine: (line: string) => boolean,
  readyMs?: number,
): Promise<Held> {
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = Promise.race([once(child, 'exit'), once(child, 'error')]).then(() => undefined);
  child.stdin.on('error', () => undefined);
  const ready = Promise.withResolvers<undefined>();
  let said = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (onLine(line)) ready.resolve(undefined);
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    said = line.slice(0, 500);
    if (readyMs !== undefined && /^Monitoring/.test(line)) ready.resolve(undefined);
  });
  const timer = readyMs === undefined ? undefined : setTimeout(() => ready.resolve(undefined), readyMs);
  const release = () => {
    child.stdin.end();
    child.kill();
  };
  const failed = ended.then(() => {
    throw new LogindError('logind', `${program} ended: ${said}`);
  });
  failed.catch(() => undefined);
  try {
    await Promise.race([ready.promise, failed]);
  } catch (error) {
    release();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return { ended, release };
}
