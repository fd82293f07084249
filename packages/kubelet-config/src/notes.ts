import type { Field, Support } from './field.ts';

/** Something that people are told once at the start. */
export interface Note {
  /** The field's path, or `--flag`. */
  readonly setting: string;
  readonly value: unknown;
  /** Goes on after the setting's name. */
  readonly text: string;
}

/** What is said of a setting that has a value other than its default; undefined: nothing. */
export function supportNote(
  setting: string,
  field: Pick<Field<unknown>, 'default' | 'support'>,
  value: unknown,
): Note | undefined {
  if (field.support.does !== 'no effect yet' || isSame(value, field.default)) return undefined;
  const { note } = field.support;
  return { setting, value, text: `has no effect yet${note === undefined ? '' : `: ${note}`}` };
}

/** Why a node with that setting does not start; undefined: it does. */
export function refusal(
  setting: string,
  field: { readonly default: unknown; readonly support: Support },
  value: unknown,
): string | undefined {
  if (field.support.does !== 'refused' || isSame(value, field.default)) return undefined;
  return `${setting} ${JSON.stringify(value)} is not supported: ${field.support.why}`;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
