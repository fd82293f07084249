/**
 * What the generated schemas are made of: the proto3 JSON mapping, one constant or function per kind of field.
 * Every field is optional. A reader drops fields that it does not know, as protobuf readers do.
 */
import * as z from 'zod';

/** Stands for an enum value of a newer runtime that this version has no name for. Only ever read, never sent. */
export type Unrecognized = 'UNRECOGNIZED';

const TWO_63 = 2n ** 63n;

/** Decimal text of a 64-bit integer; a number is taken too where JavaScript holds it exactly. */
function integer64(smallest: bigint, largest: bigint) {
  return z
    .union([z.string().regex(/^-?\d{1,20}$/, { abort: true }), z.int()])
    .refine((value) => BigInt(value) >= smallest && BigInt(value) <= largest, { error: 'out of range for 64 bits' })
    .transform(String)
    .pipe(z.string());
}

export const text = z.string();
export const bool = z.boolean();
export const int32 = z.int32();
export const uint32 = z.uint32();
export const int64 = integer64(-TWO_63, TWO_63 - 1n);
export const uint64 = integer64(0n, 2n * TWO_63 - 1n);
export const double = z.number();
/** Bytes, as base64 in either alphabet. */
export const base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/);

export const list = (item: z.ZodType): z.ZodType => z.array(item);
export const map = (value: z.ZodType): z.ZodType => z.record(z.string(), value);

/** An enum by the names of its values. */
export function enumeration<Name extends string>(names: readonly Name[]): z.ZodType<Name | Unrecognized> {
  return z.enum([...names, 'UNRECOGNIZED']);
}

/**
 * A message of type T. Its parts are built when the first value is parsed: most services use few of CRI's messages, and
 * building all of them would double the time that a service needs to start.
 */
export function message<T>(fields: () => Record<string, z.ZodType>): z.ZodType<T> {
  return z.lazy(() => z.object(fields()).partial()) as unknown as z.ZodType<T>;
}
