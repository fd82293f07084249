/** The context of an error: names and ids that a person needs to find its cause, never a secret value. */
export type ErrorContext = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * The base class of every error that Kubus throws on purpose. `code` is for programs (one word, stable), `message` is for people,
 * `context` names what the error is about, and `cause` is the error that led to it.
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

/** Whether a thrown value is an error of the operating system with one of these codes, such as `ENOENT`. */
export function hasErrno(thrown: unknown, ...codes: readonly string[]): boolean {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && codes.includes(String(thrown.code));
}

/** Awaits an action. Returns undefined when it fails with one of these codes, such as `ENOENT`: nothing exists, or there is nothing to do. */
export async function ignoring<T>(errnos: string | readonly string[], action: Promise<T>): Promise<T | undefined> {
  try {
    return await action;
  } catch (error) {
    if (hasErrno(error, ...(typeof errnos === 'string' ? [errnos] : errnos))) return undefined;
    throw error;
  }
}

/** Any thrown value as an Error, including an Error from another realm of the same process. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  if (Object.prototype.toString.call(thrown) === '[object Error]') return thrown as Error;
  return new Error(String(thrown));
}
