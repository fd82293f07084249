import type { LogFields, Logger } from '@kubus/ports';
import { DEBUG_VERBOSITY } from '@kubus/service-kit';

/** A log entry of a process of the node. */
export interface LogEntry {
  readonly severity: 'debug' | 'info' | 'warn' | 'error';
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  readonly pid: number;
  /** Service and number of its instance, where the reference has file and line. */
  readonly source: string;
  readonly number: number;
  readonly message: string;
  readonly fields: LogFields;
}

/** The format of lines: klog's, or the reference's `--logging-format=json`. */
export type LogFormat = 'text' | 'json';

const severities = { debug: 'I', info: 'I', warn: 'W', error: 'E' } as const;

/** One line, without the line end. */
export function formatEntry(entry: LogEntry, format: LogFormat): string {
  return format === 'json' ? jsonLine(entry) : textLine(entry);
}

/**
 * klog's line: severity, date and time of the machine, process, source, message in quotes, and fields
 * (k8s.io/klog/v2, structured logging of KEP-1602).
 */
function textLine({ severity, time, pid, source, number, message, fields }: LogEntry): string {
  const date = new Date(time);
  const two = (part: number) => String(part).padStart(2, '0');
  const day = `${two(date.getMonth() + 1)}${two(date.getDate())}`;
  const micros = String(Math.floor((time % 1000) * 1000)).padStart(6, '0');
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros}`;
  const head = `${severities[severity]}${day} ${clock} ${String(pid).padStart(7)} ${source}:${number}]`;
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${fieldText(value)}`);
  return `${head} ${JSON.stringify(message)}${rest.join('')}`;
}

function fieldText(value: unknown): string {
  return JSON.stringify(isError(value) ? value.message : (value ?? ''));
}

/** An Error, or one as the services' logger has serialized it. */
function isError(value: unknown): value is { message: string } {
  return typeof value === 'object' && value !== null && 'message' in value && 'stack' in value;
}

/** The reference's JSON line: `ts` in milliseconds, `v` for entries that are not errors, errors as texts. */
function jsonLine({ severity, time, source, number, message, fields }: LogEntry): string {
  const values = Object.entries(fields).map(([key, value]) => [key, isError(value) ? value.message : value]);
  const verbosity = severity === 'error' ? {} : { v: severity === 'debug' ? DEBUG_VERBOSITY : 0 };
  return JSON.stringify({
    ts: time,
    caller: `${source}:${number}`,
    msg: message,
    ...verbosity,
    ...(Object.fromEntries(values) as LogFields),
  });
}

/** Parses a line that a process has written. `now` (milliseconds since the Unix epoch) is used for lines without a time. */
export function readEntry(line: string, process: { name: string; pid: number }, now: number): LogEntry {
  return readService(line) ?? readNats(line, process, now) ?? unknownLine(line, process, now);
}

/** A line of a service's logger. */
function readService(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined;
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { level, time, pid, service: _, instance, msg, ...fields } = parsed;
  const when = Date.parse(String(time));
  if (typeof instance !== 'string' || typeof msg !== 'string' || Number.isNaN(when)) return undefined;
  return {
    severity: level === 'error' || level === 'fatal' ? 'error' : level === 'warn' || level === 'debug' ? level : 'info',
    time: when,
    pid: Number(pid),
    ...sourceOf(instance),
    message: msg,
    fields,
  };
}

const natsLevels: ReadonlyMap<string, LogEntry['severity']> = new Map([
  ['ERR', 'error'],
  ['FTL', 'error'],
  ['WRN', 'warn'],
]);

/** A line of nats-server: `[pid] 2026/01/31 10:00:00.123456 [INF] message`. Its INF lines become debug entries. */
function readNats(line: string, { name }: { name: string }, now: number): LogEntry | undefined {
  const [, pid, level, message] = /^\[(\d+)\] [\d/]+ [\d:.]+ \[([A-Z]{3})\] (.*)$/.exec(line) ?? [];
  if (level === undefined || message === undefined) return undefined;
  return {
    severity: natsLevels.get(level) ?? 'debug',
    time: now,
    pid: Number(pid),
    ...sourceOf(name),
    message: message.trim(),
    fields: {},
  };
}

/** Any other line becomes an error: it is probably a crash. */
function unknownLine(line: string, { name, pid }: { name: string; pid: number }, now: number): LogEntry {
  return { severity: 'error', time: now, pid, ...sourceOf(name), message: line, fields: {} };
}

function sourceOf(name: string): { source: string; number: number } {
  const [, service, number] = /^(.*)-(\d+)$/.exec(name) ?? [];
  return { source: service ?? name, number: Number(number ?? 0) };
}

/** The logger of this process. */
export function klogLogger(options: {
  readonly source: string;
  readonly pid: number;
  readonly now: () => number;
  /** The current verbosity (`-v`). */
  readonly verbosity: () => number;
  readonly write: (entry: LogEntry) => void;
  readonly fields?: LogFields;
}): Logger {
  const { source, pid, now, verbosity, write, fields: own = {} } = options;
  const log = (severity: LogEntry['severity']) => (fields: LogFields, message: string) => {
    if (severity === 'debug' && verbosity() < DEBUG_VERBOSITY) return;
    write({ severity, time: now(), pid, source, number: 0, message, fields: { ...own, ...fields } });
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    child: (fields) => klogLogger({ ...options, fields: { ...own, ...fields } }),
  };
}
