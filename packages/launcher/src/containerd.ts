import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { callCriOnce } from '@kubus/node-images';
import { containerdConfig } from './containerd-config.ts';
import type { ContainerdPrograms } from './containerd-programs.ts';
import { LauncherError } from './errors.ts';
import { inNetworkNamespace } from './network-namespace.ts';
import type { NodeDir } from './node-dir.ts';
import { endProcesses, findProcesses, isRunning } from './process-record.ts';
import { type StartedProcess, recordedProcess, startProcess } from './start-process.ts';

/** Between two looks at a runtime that is starting, which takes 20 ms when it has no pods. */
const lookMs = 5;
const stopMs = 10_000;
/** Between two looks at a process that is not our child. */
const adoptedLookMs = 500;
/** The name under which the process is recorded. */
const containerdProcess = 'containerd';

/** A running containerd of a private node. */
export interface Containerd extends StartedProcess {
  /** Path of its socket: CRI and containerd's own API. */
  readonly socket: string;
  /** Ends containerd in order. Pods go on running under their shims, and are there again when it is started again. */
  stop(): Promise<void>;
}

export interface ContainerdOptions {
  readonly dir: NodeDir;
  readonly programs: ContainerdPrograms;
  /** Milliseconds until it must answer CRI calls: it first loads the pods that it has. Default 30 s. */
  readonly startLimitMs?: number;
}

/**
 * Writes containerd's configuration, starts it in the node's network namespace and returns when it answers CRI calls.
 * The namespace and the node's folders must be there.
 *
 * @throws LauncherError `AlreadyRunning` when the node's containerd runs: a second one would take its socket away and
 * wait for its database; `ContainerdNotServing` with the end of its log when it ends or is not ready in time.
 */
export async function startContainerd({
  dir,
  programs,
  startLimitMs = 30_000,
}: ContainerdOptions): Promise<Containerd> {
  const running = (await findProcesses(dir.root, dir.processes)).find(({ what }) => what === containerdProcess);
  if (running) {
    throw new LauncherError('AlreadyRunning', `Node ${dir.node} has a containerd already (pid ${running.pid})`);
  }
  await writeFile(dir.containerd.config, containerdConfig({ dir, major: programs.major, runc: programs.runc }));
  const log = join(dir.logs, 'containerd.log');
  const started = await startProcess({
    dir,
    what: containerdProcess,
    command: inNetworkNamespace(dir.networkNamespace, [programs.containerd, '--config', dir.containerd.config]),
    env: { PATH: programs.path },
    log,
  });
  const stop = async () => {
    await endProcesses([started.record], stopMs);
  };
  const socket = dir.socket('containerd');
  const problem = await problemUntilServing(socket, started, startLimitMs);
  if (problem !== undefined) {
    await stop();
    throw new LauncherError('ContainerdNotServing', `containerd ${problem}; ${log} ends with:\n${await endOf(log)}`);
  }
  return { ...started, socket, stop };
}

/** The node's containerd when it runs already, such as after its launcher was killed. */
export async function adoptContainerd(dir: NodeDir): Promise<Containerd | undefined> {
  const record = (await findProcesses(dir.root, dir.processes)).find(({ what }) => what === containerdProcess);
  const socket = dir.socket('containerd');
  if (record === undefined || !(await answersCri(socket))) {
    return undefined;
  }
  const exited = (async () => {
    while (await isRunning(record)) {
      await wait(adoptedLookMs);
    }
    return 'unknown';
  })();
  const stop = async () => {
    await endProcesses([record], stopMs);
  };
  return { ...recordedProcess(record, exited), socket, stop };
}

/** Looks until CRI answers; returns what came first instead, in words. */
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
      await wait(lookMs);
    }
    return undefined;
  })();
  try {
    return await Promise.race([ended, late, serving]);
  } finally {
    over.abort();
  }
}

/** containerd serves its socket before its CRI plugin has loaded the pods: until then it says that it is not ready. */
async function answersCri(socket: string): Promise<boolean> {
  return callCriOnce(socket, 'Version', {}).then(
    () => true,
    () => false,
  );
}

async function endOf(log: string): Promise<string> {
  return (await readFile(log, 'utf8')).trimEnd().split('\n').slice(-8).join('\n');
}
