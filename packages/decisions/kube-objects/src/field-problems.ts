import type { Json } from './json.ts';
import type { FieldProblem } from './status.ts';

/** A field that is missing. @param why left out: the API says no more about it. */
export function requiredField(field: string, why?: string): FieldProblem {
  return { field, type: 'FieldValueRequired', message: `Required value${why === undefined ? '' : `: ${why}`}` };
}

/** A field with a value that it may not have. @param value as in the request; undefined: written as null. */
export function invalidField(field: string, value: Json | undefined, why: string): FieldProblem {
  return { field, type: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value ?? null)}: ${why}` };
}

/** A field that may not be changed. @param value the new one. */
export function immutableField(field: string, value: Json | undefined): FieldProblem {
  return invalidField(field, value, 'field is immutable');
}

/** A field that may not be set so. */
export function forbiddenField(field: string, why: string): FieldProblem {
  return { field, type: 'FieldValueForbidden', message: `Forbidden: ${why}` };
}
