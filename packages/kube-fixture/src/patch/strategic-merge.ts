import { type Json, type JsonObject, asList, asObject, isList, isObject, sameJson } from '../json.ts';
import { badRequest } from '../status.ts';
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
 * @throws StatusError 400 for a directive or an item that can not be read.
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
      throw badRequest(`Unknown patch type found: ${JSON.stringify(patch[DIRECTIVE])}`);
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
  return [...target, ...added];
}

function mergeList(target: readonly Json[], items: readonly Json[], key: string, rule: MergeRule): Json[] {
  const replaces = items.some((item) => asObject(item)[DIRECTIVE] === 'replace');
  if (replaces) return items.filter((item) => asObject(item)[DIRECTIVE] === undefined).map(plain);
  const merged = [...target];
  for (const item of items) {
    if (!isObject(item) || item[key] === undefined) {
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
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
  return merged;
}

/**
 * The items in the order that the patch gives. Items that the patch does not name stay before those that they stood before,
 * and items that are new come after them.
 */
function inOrder(items: readonly Json[], order: readonly Json[], before: readonly Json[], key: string): Json[] {
  const identity = (item: Json) => JSON.stringify(key === '' ? item : asObject(item)[key]);
  const wanted = order.map(identity);
  const had = before.map(identity);
  const unnamed = items.filter((item) => !wanted.includes(identity(item)));
  const named = items
    .filter((item) => wanted.includes(identity(item)))
    .sort((one, other) => wanted.indexOf(identity(one)) - wanted.indexOf(identity(other)));
  const result: Json[] = [];
  for (const item of named) {
    const place = had.indexOf(identity(item));
    while (unnamed[0] !== undefined && (place === -1 || had.indexOf(identity(unnamed[0])) < place)) {
      result.push(...unnamed.splice(0, 1));
    }
    result.push(item);
  }
  return [...result, ...unnamed];
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
