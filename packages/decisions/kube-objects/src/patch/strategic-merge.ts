import { type Json, type JsonObject, asList, asObject, asText, isList, isObject, sameJson } from '../json.ts';
import { failure } from '../status.ts';
import type { MergeRule } from './merge-keys.ts';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const ORDER = '$setElementOrder/';
const DELETE_VALUES = '$deleteFromPrimitiveList/';

/**
 * Strategic merge patch: a merge patch whose lists are merged item by item where the field's rule says so, with the directives
 * `$patch`, `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList`.
 * Source: kubernetes/community, sig-api-machinery/strategic-merge-patch.md.
 *
 * @throws StatusError 500, as the reference has it, for a directive or an item that cannot be read, or an order that is
 * not kept.
 */
export function strategicMerge(target: JsonObject, patch: JsonObject, rule: MergeRule = {}): JsonObject {
  switch (patch[DIRECTIVE]) {
    case undefined:
    case 'merge':
      break;
    case 'replace':
      return withoutDirectives(patch);
    case 'delete':
      return {};
    default:
      throw failure(500, '', `unknown patch type: ${asText(patch[DIRECTIVE])} in map: ${JSON.stringify(patch)}`);
  }
  const merged = new Map(Object.entries(target));
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$') || value === undefined) continue;
    if (value === null) merged.delete(field);
    else merged.set(field, mergeField(merged.get(field), value, rule.fields?.[field]));
  }
  for (const [directive, value] of Object.entries(patch)) {
    if (!directive.startsWith(DELETE_VALUES)) continue;
    const field = directive.slice(DELETE_VALUES.length);
    const left = asList(merged.get(field)).filter((item) => !asList(value).some((one) => sameJson(one, item)));
    merged.set(field, left);
  }
  for (const [directive, value] of Object.entries(patch)) {
    if (!directive.startsWith(ORDER)) continue;
    const field = directive.slice(ORDER.length);
    const list = merged.get(field);
    const key = rule.fields?.[field]?.key ?? '';
    checkOrder(asList(patch[field]), asList(value), key);
    if (list !== undefined) merged.set(field, inOrder(asList(list), asList(value), asList(target[field]), key));
  }
  const kept = patch[RETAIN_KEYS];
  const all = [...merged];
  return Object.fromEntries(kept === undefined ? all : all.filter(([field]) => asList(kept).includes(field)));
}

function mergeField(target: Json | undefined, value: Json, rule: MergeRule | undefined): Json {
  if (isObject(value)) return strategicMerge(asObject(target), value, rule);
  if (!isList(value)) return value;
  if (rule?.key === undefined) return value.map(plain);
  const { key } = rule;
  if (key === '') return united(asList(target), value);
  return mergeList(asList(target), value, key, rule);
}

function united(target: readonly Json[], values: readonly Json[]): Json[] {
  const added = values.filter((value, i) => !target.includes(value) && values.indexOf(value) === i);
  return inOrder([...target, ...added], values, target, '');
}

function mergeList(target: readonly Json[], items: readonly Json[], key: string, rule: MergeRule): Json[] {
  const replaces = items.some((item) => asObject(item)[DIRECTIVE] === 'replace');
  if (replaces) return items.filter((item) => asObject(item)[DIRECTIVE] === undefined).map(plain);
  const merged = [...target];
  for (const item of items) {
    if (!isObject(item) || item[key] === undefined) {
      throw failure(500, '', `map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    }
    const place = merged.findIndex((one) => sameJson(asObject(one)[key], item[key]));
    if (item[DIRECTIVE] === 'delete') {
      if (place !== -1) merged.splice(place, 1);
      continue;
    }
    const result = strategicMerge(asObject(merged[place]), item, { fields: rule.fields ?? {} });
    if (place === -1) merged.push(result);
    else merged[place] = result;
  }
  const given = items.filter((item) => asObject(item)[DIRECTIVE] === undefined);
  return inOrder(merged, given, target, key);
}

/**
 * The items in the order that the patch gives, by a directive or by its own list. Items that the patch does not name stay
 * before those that they stood before.
 */
function inOrder(items: readonly Json[], order: readonly Json[], before: readonly Json[], key: string): Json[] {
  const identity = identityBy(key);
  const wanted = order.map(identity);
  const had = before.map(identity);
  const unnamed = items.filter((item) => !wanted.includes(identity(item)));
  const named = items
    .filter((item) => wanted.includes(identity(item)))
    .sort((one, other) => wanted.indexOf(identity(one)) - wanted.indexOf(identity(other)));
  const result: Json[] = [];
  for (const item of named) {
    const place = had.indexOf(identity(item));
    while (unnamed[0] !== undefined && had.indexOf(identity(unnamed[0])) < place) {
      result.push(...unnamed.splice(0, 1));
    }
    result.push(item);
  }
  return [...result, ...unnamed];
}

/** The items of a patch have the order that it gives. */
function checkOrder(items: readonly Json[], order: readonly Json[], key: string): void {
  const wanted = order.map(identityBy(key));
  const brought = items.filter((item) => asObject(item)[DIRECTIVE] === undefined).map(identityBy(key));
  const places = brought.map((item) => wanted.indexOf(item));
  if (places.every((place, i) => place !== -1 && place > (places[i - 1] ?? -1))) return;
  const message = `The order in patch list:\n${JSON.stringify(items)}\n doesn't match $setElementOrder list:\n${JSON.stringify(order)}\n`;
  throw failure(500, '', message);
}

function identityBy(key: string): (item: Json) => string {
  return (item) => JSON.stringify(key === '' ? item : asObject(item)[key]);
}

function plain(value: Json): Json {
  return isObject(value) ? withoutDirectives(value) : value;
}

function withoutDirectives(patch: JsonObject): JsonObject {
  const fields = Object.entries(patch).filter(([field, value]) => !field.startsWith('$') && value !== null);
  return Object.fromEntries(
    fields.map(([field, value]) => [
      field,
      isList(value) ? value.map(plain) : value === undefined ? value : plain(value),
    ]),
  );
}
