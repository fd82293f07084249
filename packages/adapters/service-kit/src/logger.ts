import type { Logger } from '@kubus/ports';
import { destination, pino, stdTimeFunctions } from 'pino';

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** The minimum severity of the lines that are written. */
export type LogLevel = (typeof levels)[number];

/** klog's verbosity from which debug lines are shown; the reference's own debug lines use it too. */
export const DEBUG_VERBOSITY = 4;

/** The level that corresponds to klog's verbosity. */
export function levelOf(verbosity: number): LogLevel {
  return verbosity >= DEBUG_VERBOSITY ? 'debug' : 'info';
}

/** A logger whose level can be changed while it is in use. */
export interface AdjustableLogger extends Logger {
  /** Sets the level of this logger and of its children; undefined: the level with which it was created. */
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

/** Filters by the level at the time of the call; pino's children keep the level of their creation. */
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
