import type { NodeCondition, NodeObject } from './node-object.ts';

type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/**
 * The strategic merge patch that makes `after` of `before` through the Node's status, with nothing but what differs;
 * undefined when nothing does. It holds for that one Node only: for another one of the same name, the API server refuses it.
 * Labels and annotations go with the status; a Node's spec does not.
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
    // Merged by type, of two addresses of one type the second would replace the first.
    ...(!isSame(addressesBefore, addresses) && { addresses: [...(addresses ?? []), { $patch: 'replace' }] }),
  };
  if (metadata === undefined && Object.keys(patch).length === 0) return undefined;
  return { metadata: { ...metadata, uid: before.metadata.uid }, status: patch };
}

/** Whether the status says something else than before, other than that it is newer. */
export function saysSomethingNew(before: NodeObject, after: NodeObject): boolean {
  const conditions = after.status.conditions?.map((condition) => ({
    ...condition,
    lastHeartbeatTime: before.status.conditions?.find(({ type }) => type === condition.type)?.lastHeartbeatTime,
  }));
  return statusPatch(before, { ...after, status: { ...after.status, conditions } }) !== undefined;
}

/** Conditions are merged by their type: of each, what differs. */
function conditionsPatch(before: readonly NodeCondition[], after: readonly NodeCondition[]): JsonObject[] {
  return after.flatMap((condition) => {
    const changed = difference(before.find(({ type }) => type === condition.type) ?? {}, condition);
    return changed === undefined ? [] : [{ ...changed, type: condition.type }];
  });
}

/** Objects are merged key by key, null takes a key away; everything else is replaced. */
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

/** What is empty is the same as what is missing, as the API has it (apimachinery, Semantic.DeepEqual). */
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
