import { KubusError, toError } from '@kubus/ports';
import * as z from 'zod';

const errorSchema = z.object({
  kubus: z.boolean(),
  code: z.string().optional(),
  message: z.string(),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
});

/** The only member of an object that represents a value that JSON does not have. */
const TAG = '$kubus';

/** A value in JSON form, including Maps, bigints and errors. Functions and signals become nothing. */
export function pack(value: unknown): unknown {
  if (typeof value === 'bigint') return { [TAG]: 'bigint', of: String(value) };
  if (typeof value === 'function' || value === undefined || value instanceof AbortSignal) return null;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(pack);
  if (value instanceof Map) return { [TAG]: 'map', of: [...value].map(([key, one]) => [pack(key), pack(one)]) };
  if (value instanceof Error) return { [TAG]: 'error', of: packError(value) };
  const present = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(present.map(([name, one]) => [name, pack(one)]));
}

/** The inverse of {@link pack}; a value that was undefined is returned as undefined. */
export function unpack(value: unknown): unknown {
  if (value === null) return undefined;
  return unpackInner(value);
}

function unpackInner(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(unpackInner);
  const { [TAG]: tag, of } = value as Record<string, unknown>;
  if (tag === 'bigint') return BigInt(String(of));
  if (tag === 'map') return new Map((of as unknown[][]).map(([key, one]) => [unpackInner(key), unpackInner(one)]));
  if (tag === 'error') return unpackError(of);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unpackInner(one)]));
}

function packError(thrown: unknown): z.infer<typeof errorSchema> {
  const error = toError(thrown);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (!(error instanceof KubusError))
    return { kubus: false, message: error.message, ...(code !== undefined && { code }) };
  const context = Object.entries(error.context).flatMap(([name, one]) => (one === undefined ? [] : [[name, one]]));
  return { kubus: true, code: error.code, message: error.message, context: Object.fromEntries(context) as never };
}

function unpackError(packed: unknown): Error {
  const { kubus, code = '', message, context = {} } = errorSchema.parse(packed);
  if (kubus) return new KubusError(code, message, { context });
  return code === '' ? new Error(message) : Object.assign(new Error(message), { code });
}
