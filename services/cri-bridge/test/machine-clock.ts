import type { Clock } from '@kubus/ports';

/** The machine's time. What is left waiting at the end does not keep the test alive. */
export const machineClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};
