import { CriError } from '@kubus/cri';
import { KubusError, toError } from '@kubus/ports';

/** The error that a command is answered with: the runtime's own text, since the command already names the call. */
export function toReplyError(error: unknown): KubusError {
  const cause = toError(error);
  if (cause instanceof CriError) return new KubusError(cause.code, cause.details, { cause, context: cause.context });
  return cause instanceof KubusError ? cause : new KubusError('internal', cause.message, { cause });
}
