const OFFSET = 0x81_1c_9d_c5;
const PRIME = 0x01_00_01_93;

/** FNV-1a with 32 bits: the checksum of the reference kubelet's checkpoints, of what its structures look like as text. */
export function checksum(text: string): number {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

/** A map as text: by key, `of` each value. */
export function mapText<T>(map: Readonly<Record<string, T>>, of: (value: T) => string): string {
  return `map[${sortedEntries(map)
    .map(([key, value]) => `${key}:${of(value)}`)
    .join(' ')}]`;
}

/** Numbers in their order, other keys by their characters. */
function sortedEntries<T>(map: Readonly<Record<string, T>>): readonly [string, T][] {
  const isNumeric = Object.keys(map).every((key) => /^-?\d+$/.test(key));
  const byKey = ([a]: [string, T], [b]: [string, T]) =>
    isNumeric ? Number(a) - Number(b) : Number(a > b) - Number(a < b);
  return Object.entries(map).toSorted(byKey);
}

/** The same map with its keys in the order of their characters, as the reference kubelet writes it. */
export function sortedMap<T, S>(map: Readonly<Record<string, T>>, of: (value: T) => S): Record<string, S> {
  const entries = Object.entries(map).toSorted(([a], [b]) => Number(a > b) - Number(a < b));
  return Object.fromEntries(entries.map(([key, value]) => [key, of(value)]));
}
