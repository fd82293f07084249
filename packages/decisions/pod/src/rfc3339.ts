const RFC_3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d+))?(Z|[+-]\d{2}:\d{2})$/i;

/**
 * Nanoseconds since the Unix epoch of a time in RFC 3339 with seconds and a zone; undefined when the text is not such a time. Digits
 * after the nanoseconds are dropped.
 */
export function timeNanos(text: string): bigint | undefined {
  const [, date, fraction = '', zone] = RFC_3339.exec(text) ?? [];
  const ms = Date.parse(`${date ?? ''}${zone ?? ''}`);
  if (Number.isNaN(ms)) return undefined;
  return BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

/** Milliseconds since the Unix epoch as RFC 3339 in UTC and whole seconds, as in the API. */
export function timeOfMs(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Nanoseconds since the Unix epoch as RFC 3339 in UTC, always with nine digits of a second. `nanos` is not negative. */
export function timeOfNanos(nanos: bigint): string {
  const whole = new Date(Number(nanos / 1_000_000_000n) * 1000).toISOString().slice(0, -'.000Z'.length);
  return `${whole}.${String(nanos % 1_000_000_000n).padStart(9, '0')}Z`;
}
