import { type Pod, type PodCondition, type PodStatus, formatQuantity, parseQuantity } from '@kubus/contracts';
import { NODE_FIELDS } from './wanted-status.ts';

/** A JSON object on its way to the API server. */
export type JsonObject = Record<string, unknown>;

/**
 * The smallest strategic merge patch of `/status` that gives a pod the status `wanted`; undefined when it has it. The pod's
 * UID goes with it, so that another pod of the same name is not touched: the API server refuses that as a change of the UID.
 *
 * Which lists are merged is by the API's tags (core/v1 PodStatus, patchStrategy): conditions by type, addresses by ip, all
 * others are replaced as a whole. Conditions that are not the node's are not in the patch, so nobody's change to them is
 * lost. The order of addresses counts, the first one is the primary, so a list of them that changes is replaced.
 */
export function statusPatch({ metadata: { uid }, status = {} }: Pod, wanted: PodStatus): JsonObject | undefined {
  const fields: JsonObject = {};
  for (const field of NODE_FIELDS) {
    const [before, after] = [status[field], wanted[field]];
    if (sameField(field, before, after)) continue;
    fields[field] = fieldPatch(field, before, after);
  }
  return Object.keys(fields).length === 0 ? undefined : { metadata: { uid }, status: fields };
}

/** Whether the API server would show the same for both, as far as the node writes it. */
export function sameStatus(a: PodStatus, b: PodStatus): boolean {
  return NODE_FIELDS.every((field) => sameField(field, a[field], b[field]));
}

function fieldPatch(field: (typeof NODE_FIELDS)[number], before: unknown, after: unknown): unknown {
  switch (field) {
    case 'conditions':
      return conditionsPatch(asConditions(before), asConditions(after));
    case 'hostIPs':
    case 'podIPs':
      if (isEmptyList(after)) return null;
      return isEmptyList(before) || !Array.isArray(after) ? after : [{ $patch: 'replace' }, ...(after as unknown[])];
    case 'resources':
    case 'allocatedResources':
      return valuePatch(before, after);
    default:
      return after ?? null;
  }
}

function asConditions(value: unknown): readonly PodCondition[] {
  return (value ?? []) as readonly PodCondition[];
}

function isEmptyList(value: unknown): boolean {
  return !Array.isArray(value) || value.length === 0;
}

function conditionsPatch(before: readonly PodCondition[], after: readonly PodCondition[]): JsonObject[] {
  const changed = after.flatMap((condition) => {
    const known = before.find(({ type }) => type === condition.type);
    if (known === undefined) return [{ ...condition }];
    const { type } = condition;
    const patch = objectPatch(known, condition);
    return Object.keys(patch).length === 0 ? [] : [{ type, ...patch }];
  });
  const removed = before
    .filter(({ type }) => !after.some((condition) => condition.type === type))
    .map(({ type }) => ({ $patch: 'delete', type }));
  return [...changed, ...removed];
}

function valuePatch(before: unknown, after: unknown): unknown {
  if (after === undefined || after === null) return null;
  return isObject(before) && isObject(after) ? objectPatch(before, after) : after;
}

/** Fields that differ; null for those that are gone. */
function objectPatch(before: Readonly<JsonObject>, after: Readonly<JsonObject>): JsonObject {
  const patch: JsonObject = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (sameField(field, before[field], after[field])) continue;
    patch[field] = valuePatch(before[field], after[field]);
  }
  return patch;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sameField(field: string, a: unknown, b: unknown): boolean {
  // Their order means nothing, and a patch does not keep it.
  if (field === 'conditions') return conditionsPatch(asConditions(a), asConditions(b)).length === 0;
  return a === b || JSON.stringify(normal(field, a)) === JSON.stringify(normal(field, b));
}

/** Objects that the API server shows even when they are empty, or leaves out then: both mean the same. */
const PLAIN_OBJECTS = ['state', 'lastState', 'limits', 'requests', 'allocatedResources'];
/** Objects of quantities, which have more than one way to be written. */
const QUANTITIES = ['limits', 'requests', 'allocatedResources'];

/**
 * The one way to write a field for a comparison: without what the API server leaves out because it is the same as nothing,
 * and with the fields of objects in order.
 */
function normal(field: string, value: unknown): unknown {
  if (value === undefined || value === null || value === '' || value === 0) return undefined;
  // `started` is the one flag that can be missing.
  if (value === false) return field === 'started' ? false : undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => normal('', item));
  if (!isObject(value)) return value;
  const quantities = QUANTITIES.includes(field);
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, quantities ? normalQuantity(inner) : normal(key, inner)] as const)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 && PLAIN_OBJECTS.includes(field) ? undefined : Object.fromEntries(entries);
}

function normalQuantity(value: unknown): unknown {
  const quantity = typeof value === 'string' ? parseQuantity(value) : undefined;
  return quantity === undefined ? value : formatQuantity(quantity);
}
