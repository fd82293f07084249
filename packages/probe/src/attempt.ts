import { KubusError } from '@kubus/ports';

/** What an attempt found. A `warning` counts as a success that the pod's user should look at. */
export interface Attempt {
  readonly result: 'success' | 'warning' | 'failure';
  /** For people: why it failed, or what the container said. */
  readonly output: string;
}

/** How many times in a row a probe that can not be made is tried before it is given up until its next time. */
export const MAX_TRIES = 3;

/** Bytes of a container's answer that are read (an HTTP body, a command's output). */
export const MAX_OUTPUT = 10 * 1024;

/**
 * The probe could not be made, which says nothing about the container: the attempt is thrown away, and the pod's user told.
 * `state` is the word that the reference uses for it in its event.
 */
export class ProbeErrored extends KubusError {
  readonly state: 'unknown' | 'failure';

  constructor(state: 'unknown' | 'failure', message: string, options: { cause?: unknown } = {}) {
    super('probe-errored', message, options);
    this.state = state;
  }
}

/** The runtime or who speaks to it was not there. Nothing is known and nobody needs to be told: it is tried again later. */
export class AttemptLost extends KubusError {
  constructor(cause: Error) {
    super('attempt-lost', `the probe could not be carried out: ${cause.message}`, { cause });
  }
}
