import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Command } from './command.ts';
import { LauncherError } from './errors.ts';
import type { NodeDir } from './node-dir.ts';
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

/** A process of this machine that is recorded. */
export interface StartedProcess extends SupervisedProcess {
  readonly record: ProcessRecord;
}

export interface StartOptions {
  readonly dir: Pick<NodeDir, 'root' | 'processes'>;
  /** The record's name: one process at a time. */
  readonly what: string;
  readonly command: Command;
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The file that its output is appended to, or who is told each line. A process whose lines nobody reads any more ends. */
  readonly log: string | LineReader;
}

/** Told each line that a process writes, without the end of the line. */
export type LineReader = (line: string) => void;

/**
 * Starts a process in a session of its own, so that no signal meant for the launcher's terminal reaches it, marks and
 * records it. The record goes when the process ends while this one lives. A launcher that is killed before it has
 * written the record loses nothing: the mark is on the process from its first moment.
 *
 * @throws LauncherError `StartFailed` when the program cannot be run or ends at once.
 */
export async function startProcess({ dir, what, command, env, log }: StartOptions): Promise<StartedProcess> {
  const file = typeof log === 'string' ? await open(log, 'a', 0o640) : undefined;
  try {
    const [program, ...args] = command;
    const output = file?.fd ?? 'pipe';
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env, [nodeMark]: dir.root },
    });
    const exited = exitOf(child);
    await spawned(child);
    if (typeof log !== 'string') readLines(child, log);
    const record = await recordOf(child.pid ?? 0, what);
    if (!record) {
      const where = typeof log === 'string' ? `: see ${log}` : '';
      throw new LauncherError('StartFailed', `${what} ended at once (${await exited})${where}`);
    }
    await writeRecord(dir.processes, record);
    // Whoever is told of the end may start the next one, whose record must not be taken for this one's.
    const ended = exited.then(async (status) => {
      await removeRecord(dir.processes, record);
      return status;
    });
    return recordedProcess(record, ended);
  } finally {
    await file?.close();
  }
}

/** @param exited resolves when it has ended and its record is gone */
export function recordedProcess(record: ProcessRecord, exited: Promise<string>): StartedProcess {
  const { pid } = record;
  return {
    record,
    pid,
    exited,
    signal: async (signal) => {
      if (!(await isRunning(record))) return false;
      process.kill(pid, signal);
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
