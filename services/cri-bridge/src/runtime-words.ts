import { CriError } from '@kubus/cri';
import { KubusError, toError } from '@kubus/ports';

/** An error to answer a command with. Users read the runtime's own words: which call it was, the command says. */
export function inRuntimeWords(error: unknown): KubusError {
  const cause = toError(error);
  if (cause instanceof CriError) return new KubusError(cause.code, cause.details, { cause, context: cause.context });
  return cause instanceof KubusError ? cause : new KubusError('internal', cause.message, { cause });
}
