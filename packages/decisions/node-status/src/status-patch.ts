import type { NodeCondition, NodeObject } from './node-object.ts';

type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/**
 * The strategic merge patch of the Node object's status that changes `before` to `after`; it contains only the differences, and is
 * undefined when there are none. It is valid only for that Node object: the API server refuses it for another one with the same name.
 * Labels and annotations are written with the status; the spec is not.
 */
export function statusPatch(before: NodeObject, after: NodeObject): JsonObject | undefined {
  const { addresses, conditions = [], ...status } = after.status;
  const { addresses: addressesBefore, conditions: conditionsBefore = [], ...statusBefore } = before.status;
  const metadata = difference(
    { labels: before.metadata.labels, annotations: before.metadata.annotations },
    { labels: after.metadata.labels, annotations: after.metadata.annotations },
  );
  const changed = conditionsPatch(conditionsBefore, conditions);
  const patch = {
    ...difference(statusBefore, status),
    ...(changed.length > 0 && { conditions: changed }),
    // Addresses are merged by type: of two addresses with the same type the second would replace the first.
    ...(!isSame(addressesBefore, addresses) && { addresses: [...(addresses ?? []), { $patch: 'replace' }] }),
  };
  if (metadata === undefined && Object.keys(patch).length === 0) return undefined;
  return { metadata: { ...metadata, uid: before.metadata.uid }, status: patch };
}

/** Whether the status differs from the previous one in more than its heartbeat times. */
export function saysSomethingNew(before: NodeObject, after: NodeObject): boolean {
  const conditions = after.status.conditions?.map((condition) => ({
    ...condition,
    lastHeartbeatTime: before.status.conditions?.find(({ type }) => type === condition.type)?.lastHeartbeatTime,
  }));
  return statusPatch(before, { ...after, status: { ...after.status, conditions } }) !== undefined;
}

/** Conditions are merged by type. Contains the differences of each one. */
function conditionsPatch(before: readonly NodeCondition[], after: readonly NodeCondition[]): JsonObject[] {
  return after.flatMap((condition) => {
    const changed = difference(before.find(({ type }) => type === condition.type) ?? {}, condition);
    return changed === undefined ? [] : [{ ...changed, type: condition.type }];
  });
}

/** Objects are merged key by key, and null removes a key; everything else is replaced. */
function difference(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const changes: [string, Json][] = [];
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[name], after[name]];
    if (isSame(old, now)) continue;
    if (isObject(old) && isObject(now)) changes.push([name, difference(old, now)]);
    else changes.push([name, now ?? null]);
  }
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

/** Empty and missing values are equal, as in the API (apimachinery, Semantic.DeepEqual). */
function isSame(a: Json, b: Json): boolean {
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) && isEmpty(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => isSame(a[name], b[name]));
  }
  return a === b;
}

function isEmpty(value: Json): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
