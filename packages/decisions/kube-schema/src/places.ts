import { entriesOf, isList, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { type JsonField, fieldsByName, goTypeOf } from './types.ts';

/** What a place in an object takes. */
export interface Type {
  readonly shape: 'struct' | 'map' | 'list' | 'plain';
  /** The full name of a struct, or that of a plain value; empty for maps and lists. */
  readonly name: string;
  readonly goType: string;
  /** Of a map or a list. */
  readonly items?: Type;
}

/** A value with what its place takes. */
export interface Place {
  readonly value: Json;
  readonly type: Type;
  /** The struct whose field it is, or is within. */
  readonly struct: string;
  /** The fields on the way, with the inlined types that they are of, as Go's decoder names them. */
  readonly fields: readonly string[];
}

/** The type of a struct or of a plain value. */
export function typeNamed(name: string, goType = goTypeOf(name)): Type {
  if (name === 'Strings') return { shape: 'list', name: '', goType, items: typeNamed('string') };
  return { shape: fieldsByName(name) === undefined ? 'plain' : 'struct', name, goType };
}

export function typeOfField({ shape, type, goType }: JsonField): Type {
  if (shape === 'one') return typeNamed(type, goType);
  const item = /^(?:\[\]|map\[[^\]]*\])(.+)$/.exec(goType)?.[1];
  return { shape, name: '', goType, items: typeNamed(type, item) };
}

/** The values within a struct that are neither null nor of unknown fields, in the document's order. */
export function* placesIn(name: string, object: JsonObject, above: readonly string[] = []): Generator<Place> {
  const known = fieldsByName(name) ?? new Map<string, JsonField>();
  const struct = name.slice(name.lastIndexOf('.') + 1);
  for (const [key, value] of entriesOf(object)) {
    const field = known.get(key);
    if (field === undefined || value === null) continue;
    const fields = [...above, ...field.within, key];
    yield* placesAt({ value, type: typeOfField(field), struct, fields });
  }
}

function* placesAt(place: Place): Generator<Place> {
  yield place;
  const { value, type, fields } = place;
  const { items } = type;
  if (type.shape === 'struct' && isObject(value)) yield* placesIn(type.name, value, fields);
  if (items === undefined) return;
  const values = type.shape === 'list' && isList(value) ? value : type.shape === 'map' && isObject(value) ? value : [];
  for (const item of Object.values(values) as readonly Json[]) {
    if (item !== null) yield* placesAt({ ...place, value: item, type: items });
  }
}
