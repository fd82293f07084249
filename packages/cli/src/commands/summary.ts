import { HEADER } from '@kubus/bus';
import type { RecordedMessage } from '@kubus/causality';

/** One line about a message's payload: what a person looks for first. */
export function summarise({ message }: RecordedMessage): string {
  if (message.headers[HEADER.removed] !== undefined) return 'removed';
  const status = message.headers[HEADER.status];
  const payload = parse(message.data);
  const parts = [status, ...pick(payload)];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
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
    const value = path.split('.').reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), payload);
    const text = textOf(value);
    if (text !== '') found.push(text.length > 100 ? `${text.slice(0, 97)}...` : text);
  }
  return found.slice(0, 4);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(',');
  if (typeof value === 'number') return String(Math.round(value * 10) / 10);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : '';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
