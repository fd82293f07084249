import { isDeepEqual } from '@kubus/pod';
import type { Field, Support } from './field.ts';

/** A message that is logged once at startup. */
export interface Note {
  /** The field's path, or `--flag`. */
  readonly setting: string;
  readonly value: unknown;
  /** Follows the name of the setting. */
  readonly text: string;
}

/** The note about a setting that differs from its default; undefined: none. */
export function supportNote(
  setting: string,
  field: Pick<Field<unknown>, 'default' | 'support'>,
  value: unknown,
): Note | undefined {
  if (field.support.does !== 'no effect yet' || isDeepEqual(value, field.default)) return undefined;
  const { note } = field.support;
  return { setting, value, text: `has no effect yet${note === undefined ? '' : `: ${note}`}` };
}

/** Why a node with that setting does not start; undefined: it starts. */
export function refusal(
  setting: string,
  field: { readonly default: unknown; readonly support: Support },
  value: unknown,
): string | undefined {
  if (field.support.does !== 'refused' || isDeepEqual(value, field.default)) return undefined;
  return `${setting} ${JSON.stringify(value)} is not supported: ${field.support.why}`;
}
