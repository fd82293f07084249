import type { Query } from '@kubus/node-requests';
import { timeNanos } from '@kubus/pod';

/** A request for the machine's logs: those of services, or one file. */
export interface LogQuery {
  readonly services: readonly string[];
  /** Relative to the folder of the logs. */
  readonly file: string | undefined;
  readonly options: LogQueryOptions;
}

export interface LogQueryOptions {
  readonly since?: Date;
  readonly until?: Date;
  /** Only the last lines. */
  readonly tailLines?: number;
  /** 0: the current boot, -1 the one before. */
  readonly boot?: number;
  /** A regular expression in the syntax of journalctl. */
  readonly pattern?: string;
}

const MOST_LINES = 100_000;
const MOST_SERVICES = 4;
const LONGEST_NAME = 256;

/**
 * Reads the parameters of a query for logs (KEP-2258). A pattern is checked by journalctl: its syntax is not JavaScript's.
 *
 * @returns undefined without a query; problems in the texts of the reference
 */
export function readLogQuery(query: Query): LogQuery | { readonly problems: readonly string[] } | undefined {
  const problems: string[] = [];
  const first = (name: string) => query[name]?.find((value) => value !== '');
  const invalid = (field: string, value: unknown, why: string) =>
    void problems.push(`${field}: Invalid value: ${JSON.stringify(value)}: ${why}`);

  const named = query['query'] ?? [];
  const files = named.filter((name) => /[/\\]/.test(name));
  const services = named.filter((name) => !/[/\\]/.test(name) && name.trim() !== '');
  const time = (field: string): Date | undefined => {
    const text = first(field);
    if (text === undefined) return undefined;
    const nanos = timeNanos(text);
    if (nanos !== undefined) return new Date(Number(nanos / 1_000_000n));
    invalid(field, text, 'invalid time format');
    return undefined;
  };
  const whole = (field: string): number | undefined => {
    const text = first(field);
    if (text === undefined) return undefined;
    if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
    invalid(field, text, `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
    return undefined;
  };
  const [since, until, boot, tailLines] = [time('sinceTime'), time('untilTime'), whole('boot'), whole('tailLines')];
  const pattern = first('pattern');
  const options: LogQueryOptions = {
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(tailLines !== undefined && { tailLines }),
    ...(boot !== undefined && { boot }),
    ...(pattern !== undefined && { pattern }),
  };
  const some = Object.keys(options).length > 0;
  if (named.length > 0 && files.length + services.length === 0) invalid('query', named, 'query cannot be empty');
  else if (problems.length === 0 && named.length === 0) {
    if (!some) return undefined;
    problems.push('query: Required value: cannot be empty with options');
  }
  if (files.length > 0 && services.length > 0) {
    invalid('query', [...files, ...services].join(', '), 'cannot specify a file and service');
  } else if (files.length > 1) invalid('query', files, 'cannot specify more than one file');
  else if (files.length === 1 && some) invalid('query', files, 'cannot specify file with options');
  for (const name of services) {
    if (name.length > LONGEST_NAME) invalid('query', name, `length must be less than ${LONGEST_NAME}`);
    else if (/[^a-zA-Z\-_.:0-9@]/.test(name)) invalid('query', name, 'input contains unsupported characters');
  }
  if (services.length > MOST_SERVICES) {
    problems.push(`query: Too many: ${services.length}: must have at most ${MOST_SERVICES} items`);
  }
  if (since !== undefined && until !== undefined && since > until) {
    invalid('untilTime', until.toISOString(), 'must be after `sinceTime`');
  }
  if (boot !== undefined && boot > 0) invalid('boot', boot, 'must be less than 1');
  if (tailLines !== undefined && (tailLines < 0 || tailLines > MOST_LINES)) {
    invalid('tailLines', tailLines, `must be between 0 and ${MOST_LINES}, inclusive`);
  }
  if (problems.length > 0) return { problems };
  return { services, file: files[0]?.replaceAll('\\', '/'), options };
}

/** The arguments of journalctl. Each value is part of a named argument, so that none is read as an option. */
export function journalArguments(services: readonly string[], options: LogQueryOptions): string[] {
  const { since, until, tailLines, boot, pattern } = options;
  const at = (time: Date) => `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return [
    ...['--utc', '--no-pager', '--output=short-precise'],
    ...(since === undefined ? [] : [`--since=${at(since)}`]),
    ...(until === undefined ? [] : [`--until=${at(until)}`]),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`, '--case-sensitive=false']),
    ...(boot === undefined ? [] : [`--boot=${boot}`]),
  ];
}
