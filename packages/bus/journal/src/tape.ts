import type { WireMessage } from '@kubus/bus';
import type { Cancel } from '@kubus/ports';

/** An input: a message, or a JSON value. */
export type Arrival = { readonly message: WireMessage } | { readonly value: unknown };

/** An action on a port: sending a message, or something else, given as a name and a JSON value. */
export type Effect = { readonly out: WireMessage } | { readonly what: string; readonly detail: unknown };

/**
 * Stands between the code of a service and its ports. While recording, it passes everything on and records it;
 * in a replay, there is nothing behind it, and the recorded inputs are returned.
 */
export interface Tape {
  /** Milliseconds since the Unix epoch, whole microseconds. */
  now(): number;
  /** Reads a JSON value from outside. */
  value<T>(real: () => T): T;
  /** Performs an action without an outcome. Throws what the port throws. */
  do(effect: Effect, real: () => void): void;
  /**
   * Performs an action that can have outcomes until it is cancelled. Each outcome is a separate turn: `handle` is called,
   * and everything that it makes ready runs to its end before the next one.
   */
  open(
    effect: Effect,
    real: (arrive: (arrival: Arrival) => void) => Cancel,
    handle: (arrival: Arrival) => void,
  ): Cancel;
}
