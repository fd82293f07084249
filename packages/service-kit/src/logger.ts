import type { Logger } from '@kubus/ports';
import { destination, pino, stdTimeFunctions } from 'pino';

/** JSON lines on standard output; the launcher keeps them per service. Level by name (`debug`, `info`, `warn`, `error`). */
export function createLogger(options: { service: string; instance: string; level: string }): Logger {
  return pino(
    {
      level: options.level,
      base: { service: options.service, instance: options.instance, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    destination({ dest: 1, sync: true }),
  );
}
