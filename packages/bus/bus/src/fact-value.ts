import type * as z from 'zod';
import type { Fact } from './fact-reader.ts';

/** How many values are remembered for other readers in this process; they receive a message at nearly the same time. */
const SHARED = 64;

interface Shared {
  readonly data: string;
  readonly value: unknown;
}

/** By message and type: what was parsed last, for services that share this process. */
const shared = new Map<string, Shared>();
/** The buses of this process: as long as there is only one, nothing is shared. */
const buses = new WeakSet<object>();
let busCount = 0;

/** Another bus of this process parses facts. */
export function joinSharing(bus: object): void {
  if (buses.has(bus)) return;
  buses.add(bus);
  busCount += 1;
}

/**
 * The value in a message. Services that share this process share it as well, so it is frozen then.
 *
 * @param id of the message, see `Kubus-Source`, `Kubus-Epoch` and `Kubus-Seq`
 * @throws ZodError or SyntaxError
 */
export function parseShared<T>(payload: z.ZodType<T>, type: string, id: string, data: string): T {
  if (busCount < 2) return payload.parse(JSON.parse(data));
  const key = `${id} ${type}`;
  const known = shared.get(key);
  // The same type has the same schema. An ID alone could be that of another message.
  if (known?.data === data) return known.value as T;
  const value = payload.parse(JSON.parse(data));
  shared.delete(key);
  shared.set(key, { data, value: deepFreeze(value) });
  const [oldest] = shared.keys();
  if (shared.size > SHARED && oldest !== undefined) shared.delete(oldest);
  return value;
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

/** A fact whose value is parsed when it is first read; reading it throws ZodError or SyntaxError when it is invalid. */
export function unreadFact<T>(fact: Omit<Fact<T>, 'value'>, parse: () => T): Fact<T> {
  let read: { readonly value: T } | undefined;
  return Object.defineProperty(fact, 'value', {
    enumerable: true,
    get: () => (read ??= { value: parse() }).value,
  }) as Fact<T>;
}
