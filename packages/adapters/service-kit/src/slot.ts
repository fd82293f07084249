import { KubusError, toError } from '@kubus/ports';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Thrown when another process has locked the slot. */
export class SlotTaken extends KubusError {}

/** The right to run as one instance of a service, and the epoch of this run. */
export interface Slot {
  /** Greater than every earlier epoch of any instance of the service. */
  readonly epoch: number;
  /** A further epoch, greater than all earlier ones; for taking over what another instance owned. */
  nextEpoch(): number;
  release(): void;
}

/** The locks of this process: an unreferenced one would be closed, and so released, by the garbage collector. */
const held = new Set<DatabaseSync>();

/** How long to wait for another instance that is incrementing the epoch. */
const BUSY_MS = 5_000;

/**
 * Claims slot `slot` of a service in its state folder (rule:one-writer). SQLite serves as lock and as durable counter: an
 * exclusive database is locked as long as its connection is open, the kernel frees it when the process dies, and the
 * epoch survives a power failure.
 *
 * Throws {@link SlotTaken} when another process has locked the slot, and the file's own error when the folder cannot be
 * written.
 */
export function claimSlot(dir: string, slot: number): Slot {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lock = takeLock(dir, slot);
  try {
    const counter = openCounter(join(dir, 'epoch.db'));
    const epoch = counter.next();
    held.add(lock);
    return {
      epoch,
      nextEpoch: counter.next,
      release: () => {
        counter.close();
        lock.close();
        held.delete(lock);
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

function takeLock(dir: string, slot: number): DatabaseSync {
  const lock = open(join(dir, `slot-${slot}.lock`), 0);
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS slot (taken INTEGER); COMMIT');
    return lock;
  } catch (error) {
    lock.close();
    if (!/locked/.test(toError(error).message)) throw stateError(dir, error);
    throw new SlotTaken('slot-taken', `slot ${slot} in ${dir} is locked by another process`, {
      context: { dir, slot },
    });
  }
}

/** The counter that all instances share. */
function openCounter(path: string): { next: () => number; close: () => void } {
  const counter = open(path, BUSY_MS);
  const next = (): number => {
    try {
      counter.exec('CREATE TABLE IF NOT EXISTS epoch (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL)');
      const row = counter
        .prepare(
          'INSERT INTO epoch (id, value) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET value = value + 1 RETURNING value',
        )
        .get();
      return Number(row?.['value']);
    } catch (error) {
      throw stateError(path, error);
    }
  };
  return { next, close: () => counter.close() };
}

/** @param busyMs how long a statement waits for another process. */
function open(path: string, busyMs: number): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: busyMs });
  } catch (error) {
    throw stateError(path, error);
  }
}

function stateError(path: string, cause: unknown): KubusError {
  const message = `the state folder cannot be used: ${path}: ${toError(cause).message}`;
  return new KubusError('state-folder', message, { cause, context: { path } });
}
