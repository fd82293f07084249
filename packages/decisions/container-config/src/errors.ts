import type { ObjectReference } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';

/**
 * Thrown when a container cannot be created as its pod requires. `code` is the waiting reason, the message is the reference
 * kubelet's.
 */
export class ContainerConfigError extends KubusError {
  /** The missing object, or the object in which a key is missing. */
  readonly missing: ObjectReference | undefined;

  constructor(message: string, options: { missing?: ObjectReference; cause?: unknown } = {}) {
    super('CreateContainerConfigError', message, { cause: options.cause });
    this.missing = options.missing;
  }
}

/** Thrown when a sandbox cannot be created as its pod requires. The message is the reference kubelet's. */
export class SandboxConfigError extends KubusError {
  constructor(message: string) {
    super('CreatePodSandboxError', message);
  }
}
