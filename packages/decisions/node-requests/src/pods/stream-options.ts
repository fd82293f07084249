import type { Query, RefusedOptions } from './log-options.ts';

/** Which streams of a command are connected (behaviour:http-api, exec and attach). */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * Parses the query of /exec and /attach, in which only `1` means true. A terminal has no separate stderr: it is omitted,
 * as in the reference.
 */
export function parseStreamOptions(query: Query): StreamOptions | RefusedOptions {
  const has = (name: string) => query[name]?.[0] === '1';
  const [stdin, stdout, tty] = [has('input'), has('output'), has('tty')];
  const stderr = has('error') && !tty;
  if (!stdin && !stdout && !stderr) {
    return { status: 400, message: 'you must specify at least 1 of stdin, stdout, stderr' };
  }
  return { stdin, stdout, stderr, tty };
}

/**
 * The ports that a WebSocket client lists in the query of /portForward; a SPDY client lists them in its streams.
 */
export function parsePorts(query: Query): readonly number[] | RefusedOptions {
  const texts = (query['port'] ?? []).flatMap((text) => text.split(','));
  const ports = texts.map((text) => (/^\d{1,5}$/.test(text) ? Number(text) : 0));
  if (ports.every((port) => port >= 1 && port <= 65_535)) return ports;
  return { status: 400, message: `unable to parse ports ${JSON.stringify(texts.join(','))}` };
}
