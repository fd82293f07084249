import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { CniCode, CniError, type PluginCall, type PluginOutput, type PluginRunner } from '@kubus/cni-config';
import { toError } from '@kubus/ports';
import { OWNER_VARIABLE, endStrays } from './strays.ts';

/** Where plugins are and how they are run. */
export interface PluginHostOptions {
  /** The plugin folders, in the order in which they are searched; plugins get them as CNI_PATH. */
  readonly folders: readonly string[];
  /** Names this owner among all on the machine, the same after a restart: children carry it in KUBUS_OWNER. */
  readonly ownerMark: string;
  /** Goes before the program, for example nsenter with its arguments when the owner runs in a container. */
  readonly prefix?: readonly string[];
  /** Where the host's files are seen, for finding the program; with a prefix the path inside it stays without this. */
  readonly lookupRoot?: string;
  /** The environment that plugins get beside the protocol's variables. Default: a PATH with the system folders. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunPluginOptions extends PluginHostOptions {
  readonly call: PluginCall;
}

/** How much a plugin may print (bytes): a result is a few hundred. */
const STDOUT_LIMIT = 1024 * 1024;
/** How much of its standard error is kept (bytes), from the beginning. */
const STDERR_KEPT = 16 * 1024;

/** Plugins call iptables, ip, tc and the like. */
const DEFAULT_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/** Runs plugins of the machine as processes of their own. */
export function hostPluginRunner(options: PluginHostOptions): PluginRunner {
  let runs = 0;
  return {
    run: (call) => {
      runs += 1;
      return runPlugin({ ...options, ownerMark: `${options.ownerMark}/${runs}`, call });
    },
    endStrays: () => endStrays(options.ownerMark),
  };
}

/**
 * Runs one plugin to its end, without a shell and in a process group of its own, which is ended as a whole when the time
 * is up or the plugin prints too much.
 *
 * @throws CniError: code 5 when there is no such program or it cannot be started, 6 when it prints more than 1 MiB, 11 when
 * it does not end in time. Whatever it started has ended by then.
 */
export async function runPlugin(options: RunPluginOptions): Promise<PluginOutput> {
  const { call, folders, ownerMark, prefix = [], env = DEFAULT_ENV } = options;
  const program = findPlugin(call.type, folders, options.lookupRoot ?? '');
  const child = await start([...prefix, program], {
    ...env,
    ...call.env,
    CNI_PATH: folders.join(':'),
    [OWNER_VARIABLE]: ownerMark,
  });
  child.stdin.on('error', () => undefined); // A plugin need not read its input.
  child.stdin.end(call.stdin);
  const stdout = collect(child.stdout, STDOUT_LIMIT);
  const stderr = collect(child.stderr, STDERR_KEPT);

  const outcome = await firstOutcome(child, call, stdout.full);
  if (outcome instanceof CniError) {
    await endAll(child, ownerMark);
    throw new CniError(outcome.cniCode, outcome.message, { details: stderr.text().trim() });
  }
  return { exitCode: outcome, stdout: stdout.text(), stderr: stderr.text() };
}

async function start(argv: readonly string[], env: Record<string, string>): Promise<ChildProcessWithoutNullStreams> {
  const [command = '', ...args] = argv;
  try {
    const child = spawn(command, args, { detached: true, env }); // Detached: a process group of its own.
    if (child.pid === undefined) {
      const [error] = (await once(child, 'error')) as [Error];
      throw error;
    }
    return child;
  } catch (error) {
    throw new CniError(CniCode.ioFailure, `${command} could not be started: ${toError(error).message}`, {
      cause: error,
    });
  }
}

/** What comes first: the plugin's exit code, or why it has to be given up. */
function firstOutcome(child: ChildProcess, call: PluginCall, tooMuch: Promise<void>): Promise<number | CniError> {
  const name = `plugin ${call.type} (${call.env.CNI_COMMAND ?? ''})`;
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(new CniError(CniCode.tryAgainLater, `${name} did not end within ${call.timeoutMs / 1000} s`));
    }, call.timeoutMs);
    const settle = (outcome: number | CniError) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    void tooMuch.then(() =>
      settle(new CniError(CniCode.decodingFailure, `${name} printed more than ${STDOUT_LIMIT} bytes`)),
    );
    // `close` comes when it has ended and nothing that it started holds its output any more.
    child.once('close', (code, signal) => {
      settle(code ?? new CniError(CniCode.internal, `${name} was ended by ${signal ?? 'a signal'}`));
    });
  });
}

/** Ends the plugin, its process group and all that carries this run's mark. */
async function endAll(child: ChildProcessWithoutNullStreams, runMark: string): Promise<void> {
  // Until its end has been noticed, the process id is the plugin's and nobody else's.
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL');
    await exited;
  }
  await endStrays(runMark);
  // Something that left the group and dropped the mark may still hold these.
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

/** Looks synchronously: a few microseconds, against a tenth of a millisecond of processor time through the thread pool. */
function findPlugin(type: string, folders: readonly string[], lookupRoot: string): string {
  const program = folders.map((folder) => join(folder, type)).find((path) => isProgram(join(lookupRoot, path)));
  if (program === undefined) {
    throw new CniError(CniCode.ioFailure, `failed to find plugin "${type}" in path [${folders.join(' ')}]`);
  }
  return program;
}

function isProgram(path: string): boolean {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found !== undefined && found.isFile() && (found.mode & 0o111) !== 0;
  } catch {
    return false;
  }
}
