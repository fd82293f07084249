import type { Logger } from '@kubus/ports';

/** For schedules that nobody looks at. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
