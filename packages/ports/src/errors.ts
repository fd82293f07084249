/** What an error is about: names and ids that a person needs to find the place, never a secret value. */
export type ErrorContext = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * The base of every error that Kubus raises on purpose. `code` is for programs (one word, stable), `message` for people,
 * `context` says what it is about and `cause` what led to it.
 */
export class KubusError extends Error {
  readonly code: string;
  readonly context: ErrorContext;

  constructor(code: string, message: string, options: { cause?: unknown; context?: ErrorContext } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.context = options.context ?? {};
  }
}

/** Whether the operating system refused something with one of these codes, such as `ENOENT`. */
export function hasErrno(thrown: unknown, ...codes: readonly string[]): boolean {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && codes.includes(String(thrown.code));
}

/** Waits for an action of which these failures, such as `ENOENT`, say that there is nothing to do, or nothing there: undefined. */
export async function ignoring<T>(errnos: string | readonly string[], action: Promise<T>): Promise<T | undefined> {
  try {
    return await action;
  } catch (error) {
    if (hasErrno(error, ...(typeof errnos === 'string' ? [errnos] : errnos))) return undefined;
    throw error;
  }
}

/** Whatever was thrown, as an Error; also one that another realm of the same process made. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  if (Object.prototype.toString.call(thrown) === '[object Error]') return thrown as Error;
  return new Error(String(thrown));
}
