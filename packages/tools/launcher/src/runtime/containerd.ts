import { toError } from '@kubus/ports';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { callCriOnce } from '@kubus/node-images';
import { containerdConfig } from './containerd-config.ts';
import type { ContainerdPrograms } from './containerd-programs.ts';
import { LauncherError } from '../errors.ts';
import { inNetworkNamespace } from '../network/network-namespace.ts';
import type { NodeDir } from '../node/node-dir.ts';
import { endProcesses, findProcesses, isRunning } from '../processes/process-record.ts';
import { type StartedProcess, recordedProcess, startProcess } from '../processes/start-process.ts';

/** Between two checks of a starting runtime, in milliseconds; without pods it is ready after about 20 ms. */
const startPollMs = 5;
/** Grace period of containerd, in milliseconds. */
const stopMs = 10_000;
/** Between two checks of a containerd that is not our child, in milliseconds. */
const adoptedPollMs = 500;
/** The name under which the process is recorded. */
const containerdProcess = 'containerd';

/** A running containerd of a private node. */
export interface Containerd extends StartedProcess {
  /** Path of its socket: CRI and containerd's own API. */
  readonly socket: string;
  /** Ends containerd. Pods keep running under their shims, and a restarted containerd finds them. */
  stop(): Promise<void>;
}

/** What {@link startContainerd} needs. */
export interface ContainerdOptions {
  readonly dir: NodeDir;
  readonly programs: ContainerdPrograms;
  /** Folder of hosts.toml files. Default: containerd's own rules for each registry. */
  readonly registryHosts?: string;
  /** Milliseconds until it must answer CRI calls; it first loads its pods. Default: 30 s. */
  readonly startLimitMs?: number;
}

/**
 * Writes containerd's configuration, starts it in the node's network namespace and returns when it answers CRI calls.
 * The namespace and the node's folders must exist.
 *
 * @throws LauncherError `AlreadyRunning` when the node's containerd is running: a second one would take over its socket and block on its
 * database; `ContainerdNotServing` with the end of its log when it exits or is not ready in time.
 */
export async function startContainerd({
  dir,
  programs,
  registryHosts,
  startLimitMs = 30_000,
}: ContainerdOptions): Promise<Containerd> {
  const running = (await findProcesses(dir.root, dir.processes)).find(({ what }) => what === containerdProcess);
  if (running) {
    throw new LauncherError(
      'AlreadyRunning',
      `The containerd of node ${dir.node} is already running (pid ${running.pid})`,
    );
  }
  const { major, runc } = programs;
  await writeFile(dir.containerd.config, containerdConfig({ dir, major, runc, registryHosts }));
  const { log } = dir.containerd;
  const started = await startProcess({
    dir,
    what: containerdProcess,
    command: inNetworkNamespace(dir.networkNamespace, [programs.containerd, '--config', dir.containerd.config]),
    env: { PATH: programs.path },
    log,
  }).catch(async (cause: unknown) => {
    // It may end before it can be recorded.
    throw await notServing(toError(cause).message, log, cause);
  });
  const stop = async () => {
    await endProcesses([started.record], stopMs);
  };
  const socket = dir.socket('containerd');
  const problem = await problemUntilServing(socket, started, startLimitMs);
  if (problem !== undefined) {
    await stop();
    throw await notServing(`containerd ${problem}`, log);
  }
  return { ...started, socket, stop };
}

async function notServing(problem: string, log: string, cause?: unknown): Promise<LauncherError> {
  const message = `${problem}; ${log} ends with:\n${await endOf(log)}`;
  return new LauncherError('ContainerdNotServing', message, { cause });
}

/** The node's containerd when it is already running, such as after its launcher was killed; else undefined. */
export async function adoptContainerd(dir: NodeDir): Promise<Containerd | undefined> {
  const record = (await findProcesses(dir.root, dir.processes)).find(({ what }) => what === containerdProcess);
  const socket = dir.socket('containerd');
  if (record === undefined || !(await answersCri(socket))) {
    return undefined;
  }
  const exited = (async () => {
    while (await isRunning(record)) {
      await wait(adoptedPollMs);
    }
    return 'unknown';
  })();
  const stop = async () => {
    await endProcesses([record], stopMs);
  };
  return { ...recordedProcess(record, exited), socket, stop };
}

/** Waits until CRI answers; returns the problem when containerd exits or the limit is reached first. */
async function problemUntilServing(
  socket: string,
  started: StartedProcess,
  limitMs: number,
): Promise<string | undefined> {
  const over = new AbortController();
  const ended = started.exited.then((how) => `ended (${how})`);
  const late = wait(limitMs, `did not answer within ${limitMs / 1000} s`, { signal: over.signal });
  late.catch(() => undefined);
  const serving = (async () => {
    while (!over.signal.aborted && !(await answersCri(socket))) {
      await wait(startPollMs);
    }
    return undefined;
  })();
  try {
    return await Promise.race([ended, late, serving]);
  } finally {
    over.abort();
  }
}

/** containerd listens before its CRI plugin has loaded the pods; until then CRI calls fail. */
async function answersCri(socket: string): Promise<boolean> {
  return callCriOnce(socket, 'Version', {}).then(
    () => true,
    () => false,
  );
}

async function endOf(log: string): Promise<string> {
  return (await readFile(log, 'utf8')).trimEnd().split('\n').slice(-8).join('\n');
}
