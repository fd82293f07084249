import { CommandFailed } from '@kubus/bus';

/** The runtime has answered that it can not. One that can not be reached has not: it is waited for. */
export function isAnswer(error: unknown): error is CommandFailed {
  return error instanceof CommandFailed && error.code !== 'Unavailable';
}
