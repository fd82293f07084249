import { type Pod, type PodCondition, type PodStatus, formatQuantity, parseQuantity } from '@kubus/contracts';
import { isDeepEqual } from '@kubus/pod';
import { NODE_FIELDS } from './wanted-status.ts';

/** A JSON object that is sent to the API server. */
export type JsonObject = Record<string, unknown>;

/**
 * The smallest strategic merge patch of `/status` that sets a pod's status to `wanted`; undefined when it has that status. It
 * contains the pod's UID, so that another pod with the same name is not changed: the API server refuses a change of the UID.
 *
 * The API's tags determine which lists are merged (core/v1 PodStatus, patchStrategy): conditions by type, addresses by ip;
 * all others are replaced as a whole. The patch does not contain conditions of other components, so no change to them is
 * lost. The order of addresses matters, because the first one is the primary, so a changed list of addresses is replaced.
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

/** Fields that differ; null for those that were removed. */
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
  // Their order is irrelevant, and a patch does not keep it.
  if (field === 'conditions') return conditionsPatch(asConditions(a), asConditions(b)).length === 0;
  return a === b || isDeepEqual(normal(field, a), normal(field, b));
}

/** Objects that the API server may show or omit when they are empty: both mean the same. */
const PLAIN_OBJECTS = ['state', 'lastState', 'limits', 'requests', 'allocatedResources'];
/** Objects of quantities, which have more than one notation. */
const QUANTITIES = ['limits', 'requests', 'allocatedResources'];

/** The canonical form of a field for comparisons: without parts that the API server omits because they are the same as nothing. */
function normal(field: string, value: unknown): unknown {
  if (value === undefined || value === null || value === '' || value === 0) return undefined;
  // `started` is the only flag for which false and absent differ.
  if (value === false) return field === 'started' ? false : undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => normal('', item));
  if (!isObject(value)) return value;
  const quantities = QUANTITIES.includes(field);
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, quantities ? normalQuantity(inner) : normal(key, inner)] as const)
    .filter(([, inner]) => inner !== undefined);
  return entries.length === 0 && PLAIN_OBJECTS.includes(field) ? undefined : Object.fromEntries(entries);
}

function normalQuantity(value: unknown): unknown {
  const quantity = typeof value === 'string' ? parseQuantity(value) : undefined;
  return quantity === undefined ? value : formatQuantity(quantity);
}
