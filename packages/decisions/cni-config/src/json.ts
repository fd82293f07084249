import * as z from 'zod';

type Json = string | number | boolean | null | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

/** A JSON object with any content. */
export const jsonObjectSchema: z.ZodType<JsonObject> = z.record(z.string(), z.json());

/** The first problem of a value, as "field: problem" (or only the problem when it concerns the value itself). */
export function firstIssue(error: z.ZodError): { field: string; problem: string } {
  const [issue] = error.issues;
  const field = (issue?.path ?? []).reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : path === '' ? String(key) : `${path}.${String(key)}`),
    '',
  );
  return { field, problem: issue?.message ?? 'is not valid' };
}
