import type { Clock, Ids } from '@kubus/ports';
import { randomBytes } from 'node:crypto';

/** The machine's clock, with microseconds. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
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
