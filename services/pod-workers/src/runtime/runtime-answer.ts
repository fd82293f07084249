import { CommandFailed } from '@kubus/bus';
import { RETRY_MS, TryAgain } from '../sync/errors.ts';

/** Codes of `ObjectError`: the bridge could not read objects or tokens, or not at the versions that were known here. */
const OBJECTS_AWAITED = ['ObjectChanged', 'ObjectsUnavailable'];

/** Whether the runtime has answered with an error. Not so when it could not be reached: then the call waits. */
export function isAnswer(error: unknown): error is CommandFailed {
  return error instanceof CommandFailed && error.code !== 'Unavailable';
}

/** Throws a {@link TryAgain} when a command failed because objects that it needs are not available yet. */
export function throwIfObjectsAwaited(error: unknown): void {
  if (!(error instanceof CommandFailed && OBJECTS_AWAITED.includes(error.code))) return;
  throw new TryAgain(error.message, RETRY_MS, { cause: error });
}
