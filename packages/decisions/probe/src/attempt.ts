import { KubusError } from '@kubus/ports';

/** The result of an attempt. A `warning` counts as a success that the pod's user should look at. */
export interface Attempt {
  readonly result: 'success' | 'warning' | 'failure';
  /** For people: why it failed, or the container's answer. */
  readonly output: string;
}

/** How many times in a row a probe that cannot be run is tried before the attempt is abandoned until the next one is due. */
export const MAX_TRIES = 3;

/** The maximum number of bytes that are read of a container's answer (an HTTP body, a command's output). */
export const MAX_OUTPUT = 10 * 1024;

/**
 * Thrown when a probe could not be run, which says nothing about the container: the attempt is dropped and an event
 * is recorded. `state` is the reference's term in that event.
 */
export class ProbeErrored extends KubusError {
  readonly state: 'unknown' | 'failure';

  constructor(state: 'unknown' | 'failure', message: string, options: { cause?: unknown } = {}) {
    super('probe-errored', message, options);
    this.state = state;
  }
}

/**
 * Thrown when the runtime or cri-bridge was not available. The result is unknown and no event is recorded: the probe is tried again
 * later.
 */
export class AttemptLost extends KubusError {
  constructor(cause: Error) {
    super('attempt-lost', `the probe could not be run: ${cause.message}`, { cause });
  }
}
