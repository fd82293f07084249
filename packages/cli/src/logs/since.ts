/** Nanoseconds of each unit that Go's durations know. */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
const DURATION = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g;

/** Nanoseconds of a duration as Go writes it, such as `5s`, `1.5h` or `1h30m`; undefined when it is none. */
export function parseDuration(text: string): bigint | undefined {
  if (!DURATION.test(text)) return undefined;
  let nanos = 0;
  for (const [, amount, unit = ''] of text.matchAll(PART)) nanos += Number(amount) * (UNITS[unit] ?? 0);
  return BigInt(Math.round(nanos));
}

/**
 * From when on lines are shown, as RFC 3339: the node's API takes whole seconds for a duration, but any time.
 *
 * @param now milliseconds since the Unix epoch, of the machine that the node is on
 */
export function sinceTime(
  options: { readonly since?: bigint | undefined; readonly sinceTime?: string | undefined },
  now: number,
): string | undefined {
  if (options.since === undefined) return options.sinceTime;
  const nanos = BigInt(Math.round(now)) * 1_000_000n - options.since;
  const begin = nanos < 0n ? 0n : nanos;
  const whole = new Date(Number(begin / 1_000_000_000n) * 1000).toISOString().slice(0, -'.000Z'.length);
  return `${whole}.${String(begin % 1_000_000_000n).padStart(9, '0')}Z`;
}
