import type { WireMessage } from '@kubus/bus';
import type { Cancel } from '@kubus/ports';

/** What came in: a message, or a value of JSON. */
export type Arrival = { readonly message: WireMessage } | { readonly value: unknown };

/** What is done with a port: a message goes out, or something else, told as a name and a value of JSON. */
export type Deed = { readonly out: WireMessage } | { readonly what: string; readonly detail: unknown };

/**
 * What stands between the code of a service and its ports. Recording, it passes everything on and writes it down;
 * replaying, there is nothing behind it, and what comes is what was written down.
 */
export interface Tape {
  /** Milliseconds since the Unix epoch, whole microseconds. */
  now(): number;
  /** Takes a value of JSON from outside. */
  value<T>(real: () => T): T;
  /** Does something that has no outcome. Throws what the port throws. */
  do(deed: Deed, real: () => void): void;
  /**
   * Does something of which something may come, until it is cancelled. What comes is a turn of its own: `handle` is called,
   * and everything that it makes ready runs to its end before the next one comes.
   */
  open(deed: Deed, real: (arrive: (arrival: Arrival) => void) => Cancel, handle: (arrival: Arrival) => void): Cancel;
}
