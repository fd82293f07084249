import { entriesOf, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import type { FieldSet } from './field-set.ts';
import { encodePathElement, parsePathElement, sortedElements } from './path-element.ts';

/** How deep FieldsV1 may be; no field of an object is nearly as deep. */
const deepest = 64;

/** The set as FieldsV1: an object of steps, in which `.` says that the field with others below it is a member itself. */
export function encodeFields(set: FieldSet): JsonObject {
  return Object.fromEntries(
    sortedElements(set.keys()).map((element) => {
      const { owned = false, below = new Map() as FieldSet } = set.get(element) ?? {};
      return [encodePathElement(element), { ...(owned && below.size > 0 && { '.': {} }), ...encodeFields(below) }];
    }),
  );
}

/** @throws SyntaxError if it is no FieldsV1. */
export function decodeFields(fields: Json | undefined, depth = 0): FieldSet {
  if (fields === undefined || fields === null) return new Map();
  if (!isObject(fields)) throw new SyntaxError('fields are no object');
  if (depth > deepest) throw new SyntaxError(`fields are deeper than ${String(deepest)}`);
  return new Map(
    entriesOf(fields).flatMap(([key, value]) => {
      const element = key === '.' ? undefined : parsePathElement(key);
      if (element === undefined) return [];
      const below = decodeFields(value, depth + 1);
      const owned = below.size === 0 || (isObject(value) && Object.hasOwn(value, '.'));
      return [[element, { owned, below }] as const];
    }),
  );
}
