import type * as z from 'zod';

/** The content of a message. */
export interface Payload {
  /** JSON text; empty where a message has no payload (a removed fact). */
  readonly data: string;
  /**
   * The value itself, frozen, where the message has not left the process of its publisher: what `data` would be parsed to. It was made from
   * the declared type and is not validated again. Never set on a message that a broker has delivered.
   */
  readonly value?: unknown;
}

/**
 * A payload as it is now, whatever happens to `value` later: its JSON text, or where messages can stay in the process a frozen copy, whose
 * text is made when it is needed.
 */
export function payloadOf(transport: { readonly keepsValues?: boolean }, value: unknown): Payload {
  if (transport.keepsValues !== true) return { data: JSON.stringify(value) };
  const copy = frozenCopy(value);
  return {
    value: copy,
    get data() {
      return JSON.stringify(copy);
    },
  };
}

/** A message with this payload, whose text is still made only when it is needed. */
export function withPayload<About extends object>(about: About, payload: Payload): About & Payload {
  if (payload.value === undefined) return { ...about, data: payload.data };
  return {
    ...about,
    value: payload.value,
    get data() {
      return payload.data;
    },
  };
}

/**
 * The value of a payload.
 *
 * @throws ZodError or SyntaxError when its text is not of the type
 */
export function valueOf<T>(type: z.ZodType<T>, payload: Payload): T {
  const { value } = payload;
  return value === undefined ? type.parse(JSON.parse(payload.data)) : (value as T);
}

/** What `JSON.parse(JSON.stringify(value))` returns, frozen: it can be read in several places and changed in none. */
export function frozenCopy(value: unknown): unknown {
  // JSON has no negative zero: this sum has none either.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === 'bigint') throw new TypeError('JSON has no bigint');
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map((one) => (isNothing(one) ? null : frozenCopy(one))));
  if (hasJson(value)) return frozenCopy(value.toJSON());
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    if (isNothing(member)) continue;
    if (name === '__proto__') Object.defineProperty(copy, name, { value: frozenCopy(member), enumerable: true });
    else copy[name] = frozenCopy(member);
  }
  return Object.freeze(copy);
}

function hasJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** What JSON leaves out of an object. */
function isNothing(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}
