import { KubusError } from '@kubus/ports';

/**
 * Thrown when a recording cannot be read or written. `code`: `not-a-recording`, `other-version`, `damaged`, `not-there`; the message
 * names the file.
 */
export class RecordingError extends KubusError {}

/** SQLITE_FULL, SQLITE_READONLY, and SQLITE_IOERR_SHMSIZE, which a disk without room gives for the file beside a recording. */
const NO_ROOM: ReadonlySet<unknown> = new Set([13, 8, 4874]);

/** Whether an error of a write says that the disk takes no more: nothing of it was written, and it can be tried again. */
export function isDiskFull(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'errcode' in error && NO_ROOM.has(error.errcode);
}
