import { CommandFailed } from '@kubus/bus';
import { RETRY_MS, TryAgain } from './pass.ts';

/** Codes of `ObjectError`: the bridge could not have objects or tokens, or not the objects as they were known here. */
const OBJECTS_AWAITED = ['ObjectChanged', 'ObjectsUnavailable'];

/** The runtime has answered that it can not. One that can not be reached has not: it is waited for. */
export function isAnswer(error: unknown): error is CommandFailed {
  return error instanceof CommandFailed && error.code !== 'Unavailable';
}

/** Throws when it is nobody's fault that a command failed: the objects that it needs are to be waited for. */
export function throwIfObjectsAwaited(error: unknown): void {
  if (!(error instanceof CommandFailed && OBJECTS_AWAITED.includes(error.code))) return;
  throw new TryAgain(error.message, RETRY_MS, { cause: error });
}
