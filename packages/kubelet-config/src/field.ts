import type { Kind } from './kinds.ts';

/** What Kubus does with a setting. */
export type Support =
  | { readonly does: 'honoured' }
  /** Told once at the start where it differs from its default. */
  | { readonly does: 'no effect yet'; readonly note?: string }
  /** The node does not start where it differs from its default, because ignoring it would be unsafe. */
  | { readonly does: 'refused'; readonly why: string };

/** One field of the configuration, or one flag that is none. */
export interface Field<T> {
  readonly kind: Kind<T>;
  /** Where the document, and every flag, says nothing; undefined: it is not set at all. */
  readonly default: T | undefined;
  /** Whether the zero value means "not set", as for the fields that are no pointers in the reference. */
  readonly zeroIsUnset: boolean;
  readonly support: Support;
}

export const honoured: Support = { does: 'honoured' };
export const noEffect: Support = { does: 'no effect yet' };

/** @param note what is true of it nevertheless */
export function partly(note: string): Support {
  return { does: 'no effect yet', note };
}

/** @param why ends the sentence "... is not supported: " */
export function refused(why: string): Support {
  return { does: 'refused', why };
}

/** A field that the reference holds as a plain value: zero is the same as left out. */
export function plain<T>(kind: Kind<T>, initial: T, support: Support): Field<T> & { readonly default: T } {
  return { kind, default: initial, zeroIsUnset: true, support };
}

/** A field that the reference holds as a pointer: zero is a value of its own. */
export function pointer<T>(kind: Kind<T>, initial: T, support: Support): Field<T> & { readonly default: T } {
  return { kind, default: initial, zeroIsUnset: false, support };
}

/** A field that may be absent, with no default. */
export function optional<T>(kind: Kind<T>, support: Support): Field<T> & { readonly default: undefined } {
  return { kind, default: undefined, zeroIsUnset: false, support };
}

/** Fields, some of them in objects of their own. */
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
