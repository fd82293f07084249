import { type ServiceError, status } from '@grpc/grpc-js';
import { KubusError } from '@kubus/ports';

/** gRPC status names, as the specification writes them: `NOT_FOUND`. */
export type GrpcCode = keyof typeof status;

/** After these, the plugin may still be at work on what it was asked for (reference kubelet, pkg/volume/csi). */
const UNDECIDED: readonly GrpcCode[] = [
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'UNAVAILABLE',
  'RESOURCE_EXHAUSTED',
  'ABORTED',
];

/** A call that a plugin did not fulfil. The message is the one that Go's gRPC makes of it, as users know it from the reference. */
export class PluginCallError extends KubusError {
  declare readonly code: GrpcCode;

  constructor(method: string, { code, details }: Pick<ServiceError, 'code' | 'details'>, cause?: unknown) {
    const name = status[code] as GrpcCode;
    super(name, `rpc error: code = ${goName(name)} desc = ${details}`, { cause, context: { method } });
  }

  /** It is not known whether what was asked for has been done or will be: it has to be undone before it counts as not done. */
  get isUndecided(): boolean {
    return UNDECIDED.includes(this.code);
  }
}

/** `NotFound` of NOT_FOUND; Go writes one of the names with another spelling. */
function goName(code: GrpcCode): string {
  if (code === 'CANCELLED') return 'Canceled';
  if (code === 'OK') return code;
  return code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
