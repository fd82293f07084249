import type { Clock } from '@kubus/ports';

/** The machine's time. Pending timers do not keep the test's process alive. */
export const machineClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};
