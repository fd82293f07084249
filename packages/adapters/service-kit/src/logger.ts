import type { Logger } from '@kubus/ports';
import { destination, pino, stdTimeFunctions } from 'pino';

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** Bytes of lines that wait while they cannot be written; also the longest line. */
const MOST_WAITING = 1024 * 1024;

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
  const writer: Logger = pino(
    {
      level: 'debug',
      base: { service, instance, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    output((lost) => writer.warn({ lost }, 'the log could not be written for a while: lines are missing')),
  );
  let least: LogLevel = level;
  const logger = above(writer, () => least);
  return { ...logger, setVerbosity: (verbosity) => (least = verbosity === undefined ? level : levelOf(verbosity)) };
}

/**
 * Standard output, which may be a file on a disk that is full or read-only: lines wait in memory for the next one that can be written,
 * and no error ends the process.
 *
 * @param missing called when lines can be written again, with the number of those that were too many to wait
 */
function output(missing: (lost: number) => void): ReturnType<typeof destination> {
  const stream = destination({ dest: 1, sync: true, maxLength: MOST_WAITING });
  let lost = 0;
  stream.on('error', () => undefined);
  stream.on('drop', () => (lost += 1));
  stream.on('write', () => {
    if (lost === 0) return;
    const count = lost;
    lost = 0;
    setImmediate(() => missing(count));
  });
  return stream;
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
