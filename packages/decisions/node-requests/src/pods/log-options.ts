import type { LogStream } from '@kubus/container-log';
import { timeNanos } from '@kubus/pod';

/** The requested part of a container's log (PodLogOptions of core/v1). */
export interface LogOptions {
  readonly follow: boolean;
  /** The log of the previous run. */
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly sinceSeconds: number | undefined;
  /** Nanoseconds since the Unix epoch. */
  readonly sinceTime: bigint | undefined;
  /** Undefined: both. */
  readonly stream: LogStream | undefined;
}

/** Why the options are refused: the response's status and text, as in the reference kubelet. */
export interface RefusedOptions {
  readonly status: 400 | 422;
  readonly message: string;
}

/** A query: all values of each parameter. */
export type Query = Readonly<Record<string, readonly string[] | undefined>>;

const undecodable: RefusedOptions = { status: 400, message: '{"message": "Unable to decode query."}' };
const invalid: RefusedOptions = { status: 422, message: '{"message": "Invalid request."}' };

const streams: ReadonlyMap<string, LogStream | undefined> = new Map([
  ['All', undefined],
  ['Stdout', 'stdout'],
  ['Stderr', 'stderr'],
]);

/**
 * Parses the query of /containerLogs (behaviour:http-api). Of a parameter that is given several times the first value
 * counts; unknown ones are ignored. `tail`, with `all` for everything, is an older name of `tailLines`.
 */
export function parseLogOptions(query: Query): LogOptions | RefusedOptions {
  const text = (name: string) => query[name]?.[0];
  const tail = text('tail') ?? '';
  const numbers = {
    tailLines: integer(tail === '' ? text('tailLines') : tail === 'all' ? undefined : tail),
    limitBytes: integer(text('limitBytes')),
    sinceSeconds: integer(text('sinceSeconds')),
  };
  const sinceTime = time(text('sinceTime'));
  if (sinceTime === 'bad') return undecodable;
  const { tailLines, limitBytes, sinceSeconds } = numbers;
  if (tailLines === 'bad' || limitBytes === 'bad' || sinceSeconds === 'bad') return undecodable;
  const stream = text('stream');
  const refused =
    (tailLines ?? 0) < 0 ||
    (limitBytes ?? 1) < 1 ||
    (sinceSeconds ?? 1) < 1 ||
    (sinceSeconds !== undefined && text('sinceTime') !== undefined) ||
    (stream !== undefined && !streams.has(stream)) ||
    (stream !== undefined && stream !== 'All' && tailLines !== undefined);
  if (refused) return invalid;
  return {
    follow: flag(text('follow')),
    previous: flag(text('previous')),
    timestamps: flag(text('timestamps')),
    ...{ tailLines, limitBytes, sinceSeconds, sinceTime },
    stream: stream === undefined ? undefined : streams.get(stream),
  };
}

export function isRefused(options: object): options is RefusedOptions {
  return 'status' in options;
}

/** The time from which lines are returned, in nanoseconds since the Unix epoch; `now` is in milliseconds. */
export function sinceNanos({ sinceSeconds, sinceTime }: LogOptions, now: number): bigint | undefined {
  if (sinceSeconds === undefined) return sinceTime;
  return (BigInt(Math.round(now)) - BigInt(sinceSeconds) * 1000n) * 1_000_000n;
}

/** Every value except `0` and `false` is true, as in the API server. */
function flag(text: string | undefined): boolean {
  return text !== undefined && text !== '0' && text.toLowerCase() !== 'false';
}

function integer(text: string | undefined): number | undefined | 'bad' {
  if (text === undefined) return undefined;
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : 'bad';
}

function time(text: string | undefined): bigint | undefined | 'bad' {
  if (text === undefined || text === '' || text === 'null') return undefined;
  return timeNanos(text) ?? 'bad';
}
