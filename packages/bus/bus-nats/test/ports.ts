import type { Clock, Ids } from '@kubus/ports';
import { randomBytes } from 'node:crypto';

export const clock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, action) => {
    // Timers that a test leaves behind must not keep its process running.
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

export const ids: Ids = { hex: (bytes) => randomBytes(bytes).toString('hex'), fraction: Math.random };
