/** Several times the depth that a pod needs. */
export const MAX_DEPTH = 100;

/** How much there is in plain data, with what several places share counted for each of them. */
export interface Extent {
  /** Values, those in objects and arrays included. */
  readonly values: number;
  /** Characters of texts and keys. */
  readonly characters: number;
  /** Objects and arrays inside of each other; infinite where one contains itself. */
  readonly depth: number;
}

const endless: Extent = { values: Infinity, characters: Infinity, depth: Infinity };

/** Takes as long as the data is large, however often aliases of YAML repeat parts of it. */
export function extentOf(value: unknown): Extent {
  return measure(value, new Map());
}

function measure(value: unknown, known: Map<object, Extent>): Extent {
  if (typeof value === 'string') return { values: 1, characters: value.length, depth: 0 };
  if (typeof value !== 'object' || value === null) return { values: 1, characters: 0, depth: 0 };
  const found = known.get(value);
  if (found !== undefined) return found;
  // Until it is measured, a value inside of it that is itself has no end.
  known.set(value, endless);
  const keys = Array.isArray(value) ? 0 : Object.keys(value).reduce((sum, key) => sum + key.length, 0);
  let total: Extent = { values: 1, characters: keys, depth: 1 };
  for (const member of Object.values(value)) {
    const inner = measure(member, known);
    total = {
      values: total.values + inner.values,
      characters: total.characters + inner.characters,
      depth: Math.max(total.depth, inner.depth + 1),
    };
  }
  known.set(value, total);
  return total;
}
