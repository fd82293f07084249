import { HEADER, type WireMessage } from '@kubus/bus';

/** One line about a message: what a person looks for first. `payload`: its parsed data. */
export function summarise({ headers }: Pick<WireMessage, 'headers'>, payload: unknown): string {
  if (headers[HEADER.removed] !== undefined) return 'removed';
  const parts = [headers[HEADER.status], ...pick(payload)];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** The payload of a message; undefined for one that has none, or none that can be read. */
export function payloadOf({ data }: Pick<WireMessage, 'data'>): unknown {
  if (data === '') return undefined;
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** What stands under a path of names such as `status.phase`; undefined where there is nothing. */
export function valueAt(payload: unknown, path: string): unknown {
  let at = payload;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || Array.isArray(at)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

/** As {@link valueAt}, where only a text is of use. */
export function textAt(payload: unknown, path: string): string | undefined {
  const value = valueAt(payload, path);
  return typeof value === 'string' ? value : undefined;
}

/** Fields that tell most, in the order in which they are looked for; nested ones by their path. */
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
