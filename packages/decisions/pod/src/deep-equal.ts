/**
 * Whether two JSON values are equal. The order of an object's keys is ignored, the order of a list is not. A member that
 * is undefined counts as absent; one that is null does not.
 */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => isDeepEqual(item, b[i]))
    );
  }
  for (const key in a) if (!isDeepEqual(a[key], own(b, key))) return false;
  for (const key in b) if (b[key] !== undefined && own(a, key) === undefined) return false;
  return true;
}

type Members = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}

/** Only the object's own members, not inherited ones such as `constructor`. */
function own(object: Members, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
