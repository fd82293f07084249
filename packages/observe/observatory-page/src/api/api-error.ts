/** Thrown when the observatory answers with an error, or not at all. */
export class ApiError extends Error {
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

/** The error in an unsuccessful response: `{"error": {"code", "message"}}`, or its status without one. */
export function errorOfResponse(status: number, body: string): ApiError {
  const error = errorIn(body);
  return new ApiError(
    status,
    error?.code ?? `http-${status}`,
    error?.message ?? `the observatory answered with ${status}`,
  );
}

/** Codes of things that may have existed once. */
const forgotten = new Set(['no-recording', 'no-pod', 'no-message']);

/** Advice on what to do; undefined if all one can do is try again. */
export function adviceFor(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 0) return 'Is it still running? Open the address that `./kubus observatory` prints.';
  if (error.status === 401) return 'Open the address that `./kubus observatory` has printed: it carries the token.';
  if (!forgotten.has(error.code)) return undefined;
  return 'It may have been deleted, or the node no longer keeps it. Choose another recording.';
}

function errorIn(body: string): { code: string; message: string } | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { error } = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as { error?: unknown };
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined;
}
