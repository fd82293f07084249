import { availableParallelism, freemem } from 'node:os';
import { UserError } from '../user-error.ts';

/** What a machine has for further instances. */
export interface Room {
  readonly cores: number;
  /** Memory that can be used without swapping, in bytes. */
  readonly freeBytes: number;
}

/** Memory of an instance, in bytes: about 37 MiB are usual (bench/RESULTS.md). */
const INSTANCE_BYTES = 48 * 1024 * 1024;
/** Instances of a service that any machine may try, to see what they do. */
const ALWAYS = 4;

/**
 * The most instances of a service that a machine should have: two for each core, because an instance is one thread that waits half of
 * its time at most, and not more than half of the free memory has room for.
 */
export function instanceLimit({ cores, freeBytes }: Room): number {
  return Math.max(1, Math.min(Math.max(ALWAYS, 2 * cores), Math.floor(freeBytes / 2 / INSTANCE_BYTES)));
}

/** Throws a {@link UserError} when this machine should not have `count` instances of the service. `hint`: how to have them nevertheless. */
export function checkInstances(service: string, count: number, hint: string, room: Room = roomHere()): void {
  const limit = instanceLimit(room);
  if (count <= limit) return;
  const has = `${room.cores} cores, ${(room.freeBytes / 1024 ** 3).toFixed(1)} GiB of free memory`;
  throw new UserError(
    `${count} instances of ${service} are too many for this machine (${has}): at most ${limit}, ${hint}`,
  );
}

function roomHere(): Room {
  return { cores: availableParallelism(), freeBytes: freemem() };
}
