import type { Clock, Ids } from '@kubus/ports';
import { randomBytes } from 'node:crypto';

export const clock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, action) => {
    // What a test leaves waiting must not keep its process alive.
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

export const ids: Ids = { hex: (bytes) => randomBytes(bytes).toString('hex'), fraction: Math.random };
