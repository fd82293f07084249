import type { ObjectReference } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';

/**
 * A container can not be made as its pod asks. `code` is the waiting reason that users know, the message is the
 * reference kubelet's.
 */
export class ContainerConfigError extends KubusError {
  /** The object whose absence, or whose key's absence, is the reason. */
  readonly missing: ObjectReference | undefined;

  constructor(message: string, options: { missing?: ObjectReference; cause?: unknown } = {}) {
    super('CreateContainerConfigError', message, { cause: options.cause });
    this.missing = options.missing;
  }
}

/** A sandbox can not be made as its pod asks. The message is the reference kubelet's. */
export class SandboxConfigError extends KubusError {
  constructor(message: string) {
    super('CreatePodSandboxError', message);
  }
}
