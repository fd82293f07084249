import { KubusError, toError } from '@kubus/ports';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Another process holds the slot. */
export class SlotTaken extends KubusError {}

/** The right to run as one instance of a service, and the epoch of this life. */
export interface Slot {
  /** Greater than the epoch of every earlier life of any instance of the service. */
  readonly epoch: number;
  /** A further epoch, greater than all that were given before; for taking over what another instance held. */
  nextEpoch(): number;
  release(): void;
}

/** How long to wait for another instance that is just counting the epoch. */
const BUSY_MS = 5_000;

/**
 * Claims slot `slot` of a service in its state folder (DESIGN rule 2). SQLite serves as lock and as durable counter: an
 * exclusive database is locked as long as its connection is open, the kernel frees it when the process dies, and the
 * epoch survives a loss of power.
 *
 * Throws {@link SlotTaken} when another process holds the slot, and the file's own error when the folder can not be written.
 */
export function claimSlot(dir: string, slot: number): Slot {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lock = open(join(dir, `slot-${slot}.lock`));
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS slot (taken INTEGER); COMMIT');
  } catch (error) {
    lock.close();
    if (/locked/.test(toError(error).message)) {
      throw new SlotTaken('slot-taken', `slot ${slot} in ${dir} is held by another process`, {
        context: { dir, slot },
      });
    }
    throw stateError(dir, error);
  }
  const counter = open(join(dir, 'epoch.db'));
  const nextEpoch = (): number => {
    try {
      counter.exec('CREATE TABLE IF NOT EXISTS epoch (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL)');
      const row = counter
        .prepare(
          'INSERT INTO epoch (id, value) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET value = value + 1 RETURNING value',
        )
        .get();
      return Number(row?.['value']);
    } catch (error) {
      throw stateError(dir, error);
    }
  };
  const epoch = nextEpoch();
  return {
    epoch,
    nextEpoch,
    release: () => {
      counter.close();
      lock.close();
    },
  };
}

function open(path: string): DatabaseSync {
  try {
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA busy_timeout = ${path.endsWith('.lock') ? 0 : BUSY_MS}`);
    return database;
  } catch (error) {
    throw stateError(path, error);
  }
}

function stateError(path: string, cause: unknown): KubusError {
  const message = `the state folder can not be used: ${path}: ${toError(cause).message}`;
  return new KubusError('state-folder', message, { cause, context: { path } });
}
