import { KubusError } from '@kubus/ports';

/** Thrown when a container did not start; the other containers of the pod are still started. `code`: the waiting reason. */
export class StartFailed extends KubusError {
  /** Milliseconds until a retry is useful; undefined: the usual delay. */
  readonly waitMs: number | undefined;

  constructor(reason: string, message: string, options: { waitMs?: number | undefined; cause?: unknown } = {}) {
    super(reason, message, { cause: options.cause });
    this.waitMs = options.waitMs;
  }
}
