import { hasErrno } from '@kubus/ports';
import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Command } from './command.ts';
import { moveOver } from './move-services.ts';
import { LauncherError } from '../errors.ts';
import type { NodeDir } from '../node/node-dir.ts';
import {
  type ProcessRecord,
  endProcesses,
  isRunning,
  nodeMark,
  recordOf,
  removeRecord,
  writeRecord,
} from './process-record.ts';
import type { SupervisedProcess } from './supervisor.ts';

/** A process of this machine with its record. */
export interface StartedProcess extends SupervisedProcess {
  readonly record: ProcessRecord;
}

/** How a process is started. */
export interface StartOptions {
  readonly dir: Pick<NodeDir, 'root' | 'processes'>;
  /** Name of the record: one running process per name. */
  readonly what: string;
  readonly command: Command;
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The file to which its output is appended, or the function that gets each line; then the process ends with this one (SIGPIPE). */
  readonly log: string | LineReader;
  /** Whether services can be moved out of it, see {@link SupervisedProcess.setElsewhere}. Default: false. */
  readonly isShared?: boolean;
}

/** Called with each line that a process writes, without the line end. */
export type LineReader = (line: string) => void;

/**
 * Starts a process in its own session, so that it gets no signals of the launcher's terminal, with the node's mark in its environment and
 * a record on disk. The record is removed when the process ends. If this process is killed before it has written the record, the started
 * one is still found by its mark.
 *
 * @throws LauncherError `StartFailed` when the program cannot be run or exits at once.
 */
export async function startProcess({ dir, what, command, env, log, isShared }: StartOptions): Promise<StartedProcess> {
  const file = typeof log === 'string' ? await open(log, 'a', 0o640) : undefined;
  try {
    const [program, ...args] = command;
    const output = file?.fd ?? 'pipe';
    const child = spawn(program, args, {
      detached: true,
      stdio: isShared === true ? ['ignore', output, output, 'ipc'] : ['ignore', output, output],
      env: { ...process.env, ...env, [nodeMark]: dir.root },
    });
    const exited = exitOf(child);
    await spawned(child);
    if (typeof log !== 'string') readLines(child, log);
    const record = await recordOf(child.pid ?? 0, what);
    if (!record) {
      const where = typeof log === 'string' ? `: see ${log}` : '';
      throw new LauncherError('StartFailed', `${what} exited at once (${await exited})${where}`);
    }
    await writeRecord(dir.processes, record);
    // Remove the record before `exited` resolves: the next process may then write a record of the same name.
    const ended = exited.then(async (status) => {
      await removeRecord(dir.processes, record);
      return status;
    });
    return { ...recordedProcess(record, ended), ...(isShared === true && { setElsewhere: moveOver(child, ended) }) };
  } finally {
    await file?.close();
  }
}

/** A recorded process with the means to signal and end it. @param exited resolves when it has ended and its record is removed */
export function recordedProcess(record: ProcessRecord, exited: Promise<string>): StartedProcess {
  const { pid } = record;
  return {
    record,
    pid,
    exited,
    signal: async (signal) => {
      if (!(await isRunning(record))) return false;
      try {
        process.kill(pid, signal);
      } catch (error) {
        // It has ended meanwhile.
        if (hasErrno(error, 'ESRCH')) return false;
        throw error;
      }
      return true;
    },
    end: async (graceMs) => {
      await endProcesses([record], graceMs);
    },
  };
}

function readLines({ stdout, stderr }: ChildProcess, read: LineReader): void {
  for (const input of [stdout, stderr]) {
    if (input !== null) createInterface({ input, crlfDelay: Infinity }).on('line', read);
  }
}

function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal ?? `code ${String(code)}`);
    });
  });
}

async function spawned(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => {
      reject(new LauncherError('StartFailed', `Cannot run ${child.spawnfile}: ${cause.message}`, { cause }));
    });
  });
}
