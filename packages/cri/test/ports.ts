import { randomBytes } from 'node:crypto';
import type { Clock, Ids, Logger } from '@kubus/ports';

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

const clock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};

const ids: Ids = { hex: (bytes) => randomBytes(bytes).toString('hex'), fraction: () => Math.random() };

/** The machine's clock and randomness, and a logger that says nothing. */
export const ports = { clock, ids, logger: silent };
