import { type ServiceError, status } from '@grpc/grpc-js';
import { KubusError } from '@kubus/ports';

/** gRPC status names, as the specification writes them: `NOT_FOUND`. */
export type GrpcCode = keyof typeof status;

/** After these errors, the plugin may still be working on the request (reference kubelet, pkg/volume/csi). */
const UNDECIDED: readonly GrpcCode[] = [
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'UNAVAILABLE',
  'RESOURCE_EXHAUSTED',
  'ABORTED',
];

/** Thrown when a call to a plugin fails. The message has the format of Go's gRPC, as in the reference. */
export class PluginCallError extends KubusError {
  declare readonly code: GrpcCode;

  constructor(method: string, { code, details }: Pick<ServiceError, 'code' | 'details'>, cause?: unknown) {
    const name = status[code] as GrpcCode;
    super(name, `rpc error: code = ${goName(name)} desc = ${details}`, { cause, context: { method } });
  }

  /** The status as Go writes it: `NotFound`. */
  get status(): string {
    return goName(this.code);
  }

  /** The outcome of the request is unknown: it has to be undone before it counts as not done. */
  get isUndecided(): boolean {
    return UNDECIDED.includes(this.code);
  }
}

/** `NotFound` of NOT_FOUND; Go spells one of the names differently. */
function goName(code: GrpcCode): string {
  if (code === 'CANCELLED') return 'Canceled';
  if (code === 'OK') return code;
  return code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
