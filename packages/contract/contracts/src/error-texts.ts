/** The gRPC status codes other than OK, under the names that gRPC's own texts use. */
const rpcCodes: readonly string[] = [
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

/** A runtime's error as the reference shows it: with its gRPC code, or only its message if it has no code. */
export function rpcErrorText({ code, message }: { readonly code: string; readonly message: string }): string {
  return rpcCodes.includes(code) ? `rpc error: code = ${code} desc = ${message}` : message;
}

/** The texts of several failures as one, without duplicates. */
export function joinErrors(errors: readonly string[]): string {
  const [first = '', ...others] = new Set(errors);
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}
