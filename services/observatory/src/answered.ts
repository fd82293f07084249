import { CommandFailed } from '@kubus/bus';
import type { Clock } from '@kubus/ports';
import { RequestError } from './recordings.ts';

/** How long a service may take to answer before the request fails, in milliseconds. */
const ANSWER_MS = 20_000;

/**
 * The answer to a command. A command waits as long as it takes; the user of a page does not.
 *
 * @param silence why there is none, for people
 * @throws RequestError
 */
export async function answered<T>(asked: Promise<T>, clock: Clock, silence: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const noAnswer = (cause?: unknown) => new RequestError(503, 'no-answer', silence, cause);
  const cancel = clock.after(ANSWER_MS, () => late.reject(noAnswer()));
  try {
    return await Promise.race([asked, late.promise]);
  } catch (error) {
    if (error instanceof RequestError) throw error;
    if (error instanceof CommandFailed) throw new RequestError(409, error.code, error.message, error);
    throw noAnswer(error);
  } finally {
    cancel();
  }
}
