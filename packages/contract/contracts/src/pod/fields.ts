import * as z from 'zod';

/**
 * An object of the Kubernetes API. Fields that are not in `shape` are kept by a parse, so that nothing of a newer API
 * version is lost; the type shows only the known fields.
 */
export function apiObject<S extends z.ZodRawShape>(shape: S): z.ZodObject<S> {
  return z.looseObject(shape);
}

/**
 * A resource quantity such as `100m` or `1.5Gi` (see `parseQuantity`). Always a string here; a manifest may contain a number,
 * which its decoder converts to a string. One schema object, so that a walk over a schema recognises quantities by identity.
 */
export const quantity = z.string();

/** A port: a number, or the name of a port of the same container. */
export const intOrString = z.union([z.int(), z.string()]);

/** RFC 3339. The API writes an unset time as null. */
export const time = z.string().nullish();

/** Fields that may be omitted. */
export const text = z.string().optional();
export const flag = z.boolean().optional();
export const int = z.int().optional();
export const texts = z.array(z.string()).optional();
export const ints = z.array(z.int()).optional();
export const stringMap = z.record(z.string(), z.string()).optional();
/** Resource name to quantity. */
export const resourceList = z.record(z.string(), quantity).optional();

export type IntOrString = z.infer<typeof intOrString>;
export type ResourceList = NonNullable<z.infer<typeof resourceList>>;
