import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  CniCode,
  CniError,
  type PluginCall,
  PluginMissing,
  type PluginOutput,
  type PluginRunner,
} from '@kubus/cni-config';
import { type Program, type ProgramEnd, type ProgramRunner, RunnerLostError } from './program.ts';
import { runSpawned } from './spawned-program.ts';
import { OWNER_VARIABLE, endStrays } from './strays.ts';

/** The location of plugins and how they are run. */
export interface PluginHostOptions {
  /** The plugin folders, in the order in which they are searched; plugins get them as CNI_PATH. */
  readonly folders: readonly string[];
  /** Identifies this owner on the machine, also after a restart: children carry it in KUBUS_OWNER. */
  readonly ownerMark: string;
  /** Command prefix, for example nsenter with its arguments if the owner runs in a container. */
  readonly prefix?: readonly string[];
  /** Where the host's root is mounted, for finding the program; the path that is run does not contain it. */
  readonly lookupRoot?: string;
  /** The environment that plugins get besides the variables of the CNI protocol. Default: a PATH with the system folders. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Options with which plugins are found and run in the mount and network namespaces of another process: process 1 of the
 * machine,
 * if the owner is in a container in the machine's PID namespace.
 */
export function inNamespacesOf(pid: number): Pick<PluginHostOptions, 'prefix' | 'lookupRoot'> {
  return { prefix: ['nsenter', `--target=${pid}`, '--mount', '--net', '--'], lookupRoot: `/proc/${pid}/root` };
}

/** Limit of a plugin's standard output in bytes: a result has a few hundred. */
const STDOUT_LIMIT = 1024 * 1024;
/** Number of bytes of its standard error that are kept, from the start. */
const STDERR_KEPT = 16 * 1024;

/** Plugins call iptables, ip, tc and others. */
const DEFAULT_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

const execute = promisify(execFile);

/** Runs plugins of the machine as processes: as children of this one, or of the shim of the call at hand. */
export class PluginHost implements PluginRunner {
  readonly #options: PluginHostOptions;
  #runs = 0;

  constructor(options: PluginHostOptions) {
    this.#options = options;
  }

  /**
   * Runs one plugin to its end as a child of this process, without a shell and in a process group of its own, which is
   * killed as a whole at the time limit or when the plugin prints too much.
   *
   * @throws CniError: code 5 if the program does not exist or cannot be started, 6 if it prints more than 1 MiB, 11 if it
   * does not end in time. All processes that it started have ended by then.
   */
  run(call: PluginCall): Promise<PluginOutput> {
    const { prefix = [] } = this.#options;
    return this.#run(call, (program) => runSpawned({ ...program, argv: prepend(prefix, program.argv) }));
  }

  /** Runs a program of the machine where plugins run, such as `iptables`. Rejects as execFile does. */
  async program(name: string, args: readonly string[]): Promise<void> {
    const { prefix = [], env = DEFAULT_ENV } = this.#options;
    const [file, ...rest] = prepend(prefix, [name, ...args]);
    await execute(file, rest, { env });
  }

  endStrays(): Promise<number> {
    return endStrays(this.#options.ownerMark);
  }

  /**
   * Runs plugins in the shim while it is connected, otherwise as `run` does. The shim already is a process of the host,
   * so there is no prefix. If it is lost during a run, the processes of that run are ended first.
   *
   * @throws CniError as `run` does, and code 11 when the shim was lost: the effect of the plugin is then unknown.
   */
  through(shim: ProgramRunner | undefined): Pick<PluginRunner, 'run'> {
    if (shim === undefined) {
      return this;
    }
    return {
      run: (call) => (shim.open ? this.#run(call, (program) => shim.run(program)) : this.run(call)),
    };
  }

  async #run(call: PluginCall, execute: (program: Program) => Promise<ProgramEnd>): Promise<PluginOutput> {
    const { folders, ownerMark, lookupRoot = '', env = DEFAULT_ENV } = this.#options;
    this.#runs += 1;
    const mark = `${ownerMark}/${this.#runs}`;
    const file = findPlugin(call.type, folders, lookupRoot);
    try {
      const end = await execute({
        argv: [file],
        env: { ...env, ...call.env, CNI_PATH: folders.join(':'), [OWNER_VARIABLE]: mark },
        stdin: call.stdin,
        timeoutMs: call.timeoutMs,
        stdoutLimit: STDOUT_LIMIT,
        stderrKept: STDERR_KEPT,
      });
      return outputOf(end, call, file);
    } catch (error) {
      await endStrays(mark);
      throw error instanceof RunnerLostError ? lost(call, error) : error;
    }
  }
}

function prepend(prefix: readonly string[], argv: Program['argv']): Program['argv'] {
  const [first, ...rest] = prefix;
  return first === undefined ? argv : [first, ...rest, ...argv];
}

/** The standard output of a plugin that ended in time. */
function outputOf(end: ProgramEnd, call: PluginCall, file: string): PluginOutput {
  const { stdout, stderr } = end;
  const details = { details: stderr.trim() };
  switch (end.how) {
    case 'exited':
      return { exitCode: end.exitCode, stdout, stderr };
    case 'signalled':
      throw new CniError(CniCode.internal, `${nameOf(call)} was killed by ${end.signal}`, details);
    case 'notStarted':
      throw new CniError(CniCode.ioFailure, `${file} could not be started: ${end.reason}`);
    case 'timedOut':
      throw new CniError(
        CniCode.tryAgainLater,
        `${nameOf(call)} did not end within ${call.timeoutMs / 1000} s`,
        details,
      );
    case 'printedTooMuch':
      throw new CniError(CniCode.decodingFailure, `${nameOf(call)} printed more than ${STDOUT_LIMIT} bytes`, details);
  }
}

function lost(call: PluginCall, error: RunnerLostError): CniError {
  const message = `${nameOf(call)} lost the shim that ran it: ${error.message}`;
  return new CniError(CniCode.tryAgainLater, message, { cause: error });
}

function nameOf({ type, env }: PluginCall): string {
  return `plugin ${type} (${env.CNI_COMMAND ?? ''})`;
}

/** Synchronous: a few microseconds, compared with a tenth of a millisecond of CPU through the thread pool. */
function findPlugin(type: string, folders: readonly string[], lookupRoot: string): string {
  const program = folders.map((folder) => join(folder, type)).find((path) => isProgram(join(lookupRoot, path)));
  if (program === undefined) {
    throw new PluginMissing(type, folders);
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
