import { HEADER, type WireMessage } from '@kubus/bus';

/** One line about a message with its most important values. `payload`: its parsed data. */
export function summarise({ headers }: Pick<WireMessage, 'headers'>, payload: unknown): string {
  if (headers[HEADER.removed] !== undefined) return 'removed';
  const parts = [headers[HEADER.status], ...pick(payload)];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** The payload of a message; undefined if it has none, or an invalid one. */
export function payloadOf({ data }: Pick<WireMessage, 'data'>): unknown {
  if (data === '') return undefined;
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** The value at a path of names such as `status.phase`; undefined if there is none. */
export function valueAt(payload: unknown, path: string): unknown {
  let at = payload;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || Array.isArray(at)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

/** As {@link valueAt}, for strings only. */
export function textAt(payload: unknown, path: string): string | undefined {
  const value = valueAt(payload, path);
  return typeof value === 'string' ? value : undefined;
}

/** The most informative fields by priority; nested ones by their path. */
const telling = [
  'operation',
  'work',
  'state',
  'status.phase',
  'what',
  'command',
  'plugin',
  'reason',
  'message',
  'decision.signal',
  'failure.message',
  'error.code',
  'error.message',
  'code',
  'kind',
  'ready',
  'ips',
  'durationMs',
];

function pick(payload: unknown): string[] {
  const found: string[] = [];
  for (const path of telling) {
    const text = textOf(valueAt(payload, path));
    if (text !== '') found.push(text.length > 100 ? `${text.slice(0, 97)}...` : text);
    if (found.length === 4) break;
  }
  return found;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(',');
  if (typeof value === 'number') return String(Math.round(value * 10) / 10);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : '';
}
