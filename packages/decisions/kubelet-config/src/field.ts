import type { Kind } from './kinds.ts';

/** What Kubus does with a setting. */
export type Support =
  | { readonly does: 'honoured' }
  /** A message is logged at startup where the setting differs from its default. */
  | { readonly does: 'no effect yet'; readonly note?: string }
  /** The node does not start where the setting differs from its default, because ignoring it would be unsafe. */
  | { readonly does: 'refused'; readonly why: string };

/** A field of the configuration, or a flag that does not set one. */
export interface Field<T> {
  readonly kind: Kind<T>;
  /** The value where neither the document nor a flag sets it; undefined: it stays unset. */
  readonly default: T | undefined;
  /** Whether the zero value means "not set", as for fields that are not pointers in the reference. */
  readonly zeroIsUnset: boolean;
  readonly support: Support;
}

export const honoured: Support = { does: 'honoured' };
export const noEffect: Support = { does: 'no effect yet' };

/** @param note what Kubus does anyway */
export function partly(note: string): Support {
  return { does: 'no effect yet', note };
}

/** @param why completes the sentence "... is not supported: " */
export function refused(why: string): Support {
  return { does: 'refused', why };
}

/** A field that is a plain value in the reference: zero is the same as unset. */
export function plain<T>(kind: Kind<T>, initial: T, support: Support): Field<T> & { readonly default: T } {
  return { kind, default: initial, zeroIsUnset: true, support };
}

/** A field that is a pointer in the reference: zero is a value. */
export function pointer<T>(kind: Kind<T>, initial: T, support: Support): Field<T> & { readonly default: T } {
  return { kind, default: initial, zeroIsUnset: false, support };
}

/** A field that may be absent, with no default. */
export function optional<T>(kind: Kind<T>, support: Support): Field<T> & { readonly default: undefined } {
  return { kind, default: undefined, zeroIsUnset: false, support };
}

/** Fields, some of which are objects with fields. */
export interface Fields {
  readonly [name: string]: Field<unknown> | Fields;
}

/** The values of fields. */
export type ValuesOf<F> = {
  -readonly [K in keyof F]: F[K] extends Field<infer T>
    ? F[K] extends { readonly default: undefined }
      ? T | undefined
      : T
    : ValuesOf<F[K]>;
};
