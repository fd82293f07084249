import { randomBytes } from 'node:crypto';
import { type Clock, type Ids, silentLogger } from '@kubus/ports';

const clock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};

const ids: Ids = { hex: (bytes) => randomBytes(bytes).toString('hex'), fraction: () => Math.random() };

/** The machine's clock and random numbers, and a silent logger. */
export const ports = { clock, ids, logger: silentLogger };
