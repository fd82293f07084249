import { KubusError } from '@kubus/ports';

/** A command line or a configuration with which the node is not to start. The message names flag or field, and file. */
export class KubeletConfigError extends KubusError {}

/** A {@link KubeletConfigError} of the kind `bad-kubelet-config`. */
export function configError(message: string, cause?: unknown): KubeletConfigError {
  return new KubeletConfigError('bad-kubelet-config', message, { ...(cause !== undefined && { cause }) });
}
