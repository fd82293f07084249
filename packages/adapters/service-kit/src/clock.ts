import type { Clock, Ids } from '@kubus/ports';
import { randomBytes } from 'node:crypto';

/** Time of day at which `performance.now()` was 0, in milliseconds since the Unix epoch. */
let origin = performance.timeOrigin;

/**
 * Time of day with microseconds. `Date.now()` has milliseconds only, and the origin of Node.js is up to 10 ms off, differently
 * in each process: an effect could seem older than its cause. So the origin is corrected whenever it contradicts the
 * kernel's millisecond; after some calls processes of a machine agree, also after the clock was set.
 */
function now(): number {
  const before = Date.now();
  const at = origin + performance.now();
  const end = Date.now() + 1;
  if (at < before) origin += before - at;
  else if (at >= end) origin -= at - end;
  return Math.min(Math.max(at, before), end);
}

/** The machine's clock, with microseconds. */
export const systemClock: Clock = {
  now,
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};

/** Random identity from the kernel. */
export const systemIds: Ids = {
  hex: (bytes) => randomBytes(bytes).toString('hex'),
  fraction: () => Math.random(),
};
