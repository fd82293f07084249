import { KubusError } from '@kubus/ports';

/**
 * Thrown when the node cannot start with a command line or a configuration. The message names the flag or field, and the file.
 */
export class KubeletConfigError extends KubusError {}

/** A {@link KubeletConfigError} with the code `bad-kubelet-config`. */
export function configError(message: string, cause?: unknown): KubeletConfigError {
  return new KubeletConfigError('bad-kubelet-config', message, { ...(cause !== undefined && { cause }) });
}
