/** What the observatory said instead of an answer, or why nothing came. */
export class ApiError extends Error {
  /** HTTP status; 0 when nobody answered. */
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

/** The error that a response without success tells of: `{"error": {"code", "message"}}`, or its status when it says nothing. */
export function errorOfResponse(status: number, body: string): ApiError {
  const told = toldError(body);
  return new ApiError(
    status,
    told?.code ?? `http-${status}`,
    told?.message ?? `the observatory answered with ${status}`,
  );
}

/** Codes that tell that something was there once, perhaps. */
const forgotten = new Set(['no-recording', 'no-pod', 'no-message']);

/** What a person can do about it; undefined where trying again is all. */
export function adviceFor(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 0) return 'Is it still running? Open the address that `./kubus observatory` prints.';
  if (error.status === 401) return 'Open the address that `./kubus observatory` has printed: it carries the token.';
  if (!forgotten.has(error.code)) return undefined;
  return 'It may have been deleted, or the node keeps it no longer. Choose another recording.';
}

function toldError(body: string): { code: string; message: string } | undefined {
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
