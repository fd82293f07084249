import type { JsonObject } from './json.ts';

/** A response other than an object: `Status` of meta/v1. */
export interface Status extends JsonObject {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly code: number;
}

/** The kind of objects in an error: `pods`, or `leases.coordination.k8s.io`. */
export interface ErrorSubject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** Thrown when a request is refused, with the Status for the client. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(status: Status) {
    super(status.message);
    this.name = 'StatusError';
    this.status = status;
  }
}

/** An invalid field, in the format of the API's field errors. */
export interface FieldProblem {
  readonly field: string;
  /** `FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired`, ... */
  readonly type: string;
  /** With the kind of problem and the value in front, without the field. */
  readonly message: string;
}

/** @param reason empty: none, as for errors without a reason. */
export function failure(code: number, reason: string, message: string, details?: JsonObject): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason !== '' && { reason }),
    ...(details && { details }),
    code,
  });
}

const detailsOf = ({ group, plural }: ErrorSubject, name: string): JsonObject => ({
  ...(name !== '' && { name }),
  ...(group !== '' && { group }),
  kind: plural,
});

const qualified = ({ group, plural }: ErrorSubject) => (group === '' ? plural : `${plural}.${group}`);

export function notFound(subject: ErrorSubject, name: string): StatusError {
  return failure(404, 'NotFound', `${qualified(subject)} "${name}" not found`, detailsOf(subject, name));
}

export function alreadyExists(subject: ErrorSubject, name: string): StatusError {
  return failure(409, 'AlreadyExists', `${qualified(subject)} "${name}" already exists`, detailsOf(subject, name));
}

export function conflict(subject: ErrorSubject, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${why}`;
  return failure(409, 'Conflict', message, detailsOf(subject, name));
}

export function forbidden(subject: ErrorSubject, name: string, why: string): StatusError {
  const named = name === '' ? '' : ` "${name}"`;
  return failure(403, 'Forbidden', `${qualified(subject)}${named} is forbidden: ${why}`, detailsOf(subject, name));
}

export function invalid(subject: ErrorSubject, name: string, problems: readonly FieldProblem[]): StatusError {
  const { group, kind } = subject;
  const qualifiedKind = group === '' ? kind : `${kind}.${group}`;
  const texts = problems.map(({ field, message }) => `${field}: ${message}`);
  const said = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  return failure(422, 'Invalid', `${qualifiedKind} "${name}" is invalid: ${said}`, {
    ...(name !== '' && { name }),
    ...(group !== '' && { group }),
    kind,
    causes: problems.map(({ field, type, message }) => ({ reason: type, message, field })),
  });
}

export function badRequest(message: string): StatusError {
  return failure(400, 'BadRequest', message);
}

export function methodNotAllowed(): StatusError {
  return failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

export function unsupportedMediaType(message: string): StatusError {
  return failure(415, 'UnsupportedMediaType', message, {});
}

/** History up to there has expired (Kubernetes API concepts, "410 Gone responses"). */
export function expired(message: string): StatusError {
  return failure(410, 'Expired', message);
}

/** A future version. */
export function tooLargeVersion(asked: number, current: number): StatusError {
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  return failure(504, 'Timeout', message, { causes, retryAfterSeconds: 1 });
}

/** No such path. */
export function noSuchPath(): StatusError {
  return failure(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function unauthorized(): StatusError {
  return failure(401, 'Unauthorized', 'Unauthorized');
}

/** The response to a deletion without an object. */
export function deletedStatus(subject: ErrorSubject, name: string, uid: string): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(subject, name), uid },
  };
}
