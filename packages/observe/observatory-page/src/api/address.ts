type Value = string | number | undefined;

/** A path below `/api/v1`: segments are escaped, parameters without a value omitted. */
export function address(segments: readonly string[], query: Readonly<Record<string, Value>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `/${segments.map(encodeSegment).join('/')}${search === '' ? '' : `?${search}`}`;
}

/** `~live` stays readable. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll('%7E', '~');
}
