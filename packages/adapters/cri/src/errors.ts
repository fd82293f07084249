import { type ServiceError, status } from '@grpc/grpc-js';
import { KubusError } from '@kubus/ports';

/** gRPC status names, in the CamelCase of the specification. */
export type CriCode =
  | 'Cancelled'
  | 'Unknown'
  | 'InvalidArgument'
  | 'DeadlineExceeded'
  | 'NotFound'
  | 'AlreadyExists'
  | 'PermissionDenied'
  | 'ResourceExhausted'
  | 'FailedPrecondition'
  | 'Aborted'
  | 'OutOfRange'
  | 'Unimplemented'
  | 'Internal'
  | 'Unavailable'
  | 'DataLoss'
  | 'Unauthenticated';

const CODES: Readonly<Record<status, CriCode>> = {
  // OK is never an error; a runtime that sent it as one would be broken.
  [status.OK]: 'Internal',
  [status.CANCELLED]: 'Cancelled',
  [status.UNKNOWN]: 'Unknown',
  [status.INVALID_ARGUMENT]: 'InvalidArgument',
  [status.DEADLINE_EXCEEDED]: 'DeadlineExceeded',
  [status.NOT_FOUND]: 'NotFound',
  [status.ALREADY_EXISTS]: 'AlreadyExists',
  [status.PERMISSION_DENIED]: 'PermissionDenied',
  [status.RESOURCE_EXHAUSTED]: 'ResourceExhausted',
  [status.FAILED_PRECONDITION]: 'FailedPrecondition',
  [status.ABORTED]: 'Aborted',
  [status.OUT_OF_RANGE]: 'OutOfRange',
  [status.UNIMPLEMENTED]: 'Unimplemented',
  [status.INTERNAL]: 'Internal',
  [status.UNAVAILABLE]: 'Unavailable',
  [status.DATA_LOSS]: 'DataLoss',
  [status.UNAUTHENTICATED]: 'Unauthenticated',
};

/** The subject of a call, for its error: the method and the IDs in the request. */
export interface CallSubject {
  readonly method: string;
  readonly podSandboxId?: string;
  readonly containerId?: string;
}

/**
 * Thrown when a CRI call fails. `code` is gRPC's, `details` the runtime's own text (situations.ts derives the
 * situation from it). 'Unimplemented' is an answer like others: the runtime does not have the method.
 */
export class CriError extends KubusError {
  declare readonly code: CriCode;
  readonly details: string;

  constructor(code: CriCode, details: string, subject: CallSubject, cause?: unknown) {
    super(code, `${subject.method}: ${details}`, { cause, context: { ...subject } });
    this.details = details;
  }
}

/**
 * containerd's answer from the opening of its socket until it has read its containers, for some ten milliseconds.
 * Before 2.0 its code is UNKNOWN.
 */
const STARTING = 'server is not initialized yet';

/** Converts the error that grpc-js returned for a call. */
export function criError(error: ServiceError, subject: CallSubject): CriError {
  const code = error.details.startsWith(STARTING) ? 'Unavailable' : CODES[error.code];
  return new CriError(code, error.details, subject, error);
}
