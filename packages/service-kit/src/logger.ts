import type { Logger } from '@kubus/ports';
import { destination, pino, stdTimeFunctions } from 'pino';

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** From which severity on lines are written. */
export type LogLevel = (typeof levels)[number];

/** klog's verbosity from which on a line for debugging is shown; the reference's own such lines have it too. */
export const DEBUG_VERBOSITY = 4;

/** The level that stands for klog's verbosity. */
export function levelOf(verbosity: number): LogLevel {
  return verbosity >= DEBUG_VERBOSITY ? 'debug' : 'info';
}

/** A logger that can be told to say more or less while it is in use. */
export interface AdjustableLogger extends Logger {
  /** How much it says from now on, and each of its children; undefined: as much as it was made for. */
  setVerbosity(verbosity: number | undefined): void;
}

/** JSON lines on standard output; the launcher keeps them per service. */
export function createLogger(options: { service: string; instance: string; level: LogLevel }): AdjustableLogger {
  const { service, instance, level } = options;
  const writer = pino(
    {
      level: 'debug',
      base: { service, instance, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    destination({ dest: 1, sync: true }),
  );
  let least: LogLevel = level;
  const logger = above(writer, () => least);
  return { ...logger, setVerbosity: (verbosity) => (least = verbosity === undefined ? level : levelOf(verbosity)) };
}

/** Writes what is at least of that level at the moment when it is said; pino's children keep the level of their making. */
function above(writer: Logger, least: () => LogLevel): Logger {
  const at =
    (level: LogLevel): Logger['info'] =>
    (fields, message) => {
      if (levels.indexOf(level) >= levels.indexOf(least())) writer[level](fields, message);
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => above(writer.child(fields), least),
  };
}
