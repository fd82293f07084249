/** Nanoseconds by Go's units (package time, ParseDuration). */
const units: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  '\u00b5s': 1e3,
  '\u03bcs': 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
const NANO_PER_MS = 1e6;
/** The maximum of int64, Go's type for nanoseconds. */
const MAX_NANO = 2 ** 63;

/**
 * Milliseconds, with a fraction down to the nanosecond, of a duration in Go's notation: `1m30s`, `-1.5h`, `100ms`, `0`.
 * Undefined when the text is not a duration, or exceeds Go's range.
 */
export function parseGoDuration(text: string): number | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  const rest = text.slice(sign.length);
  if (rest === '0') return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$/.test(rest)) return undefined;
  let nano = 0;
  for (const [, amount, unit] of rest.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/g)) {
    nano += Number(amount) * (units[unit ?? ''] ?? Number.NaN);
  }
  if (nano >= MAX_NANO) return undefined;
  const ms = Math.round(nano) / NANO_PER_MS;
  return sign === '-' && ms !== 0 ? -ms : ms;
}

/** What Go says of a text that {@link parseGoDuration} does not accept (package time, ParseDuration). */
export function goDurationError(text: string): string {
  const invalid = `time: invalid duration ${quoted(text)}`;
  for (let rest = text.replace(/^[+-]/, ''); rest !== '';) {
    const amount = /^(?:\d+\.?\d*|\.\d+)/.exec(rest)?.[0];
    if (amount === undefined) return invalid;
    const unit = /^[^.\d]*/.exec(rest.slice(amount.length))?.[0] ?? '';
    if (unit === '') return `time: missing unit in duration ${quoted(text)}`;
    if (!Object.hasOwn(units, unit)) return `time: unknown unit ${quoted(unit)} in duration ${quoted(text)}`;
    rest = rest.slice(amount.length + unit.length);
  }
  return invalid;
}

/** As Go quotes a duration: bytes that are not printable ASCII in hexadecimal. */
function quoted(text: string): string {
  const escaped = Array.from(new TextEncoder().encode(text), (byte) => {
    const character = String.fromCodePoint(byte);
    if (character === '"' || character === '\\') return `\\${character}`;
    return byte >= 0x20 && byte < 0x80 ? character : `\\x${byte.toString(16).padStart(2, '0')}`;
  });
  return `"${escaped.join('')}"`;
}

/** A duration in Go's notation: `1m30s`, `1.5s`, `100ms`, `0s`. */
export function formatGoDuration(ms: number): string {
  const sign = ms < 0 ? '-' : '';
  const nano = BigInt(Math.round(Math.abs(ms) * NANO_PER_MS));
  if (nano === 0n) return '0s';
  if (nano < 1_000n) return `${sign}${nano}ns`;
  if (nano < 1_000_000n) return `${sign}${decimal(nano, 1_000n)}\u00b5s`;
  if (nano < 1_000_000_000n) return `${sign}${decimal(nano, 1_000_000n)}ms`;
  const minutes = nano / 60_000_000_000n;
  const seconds = `${decimal(nano % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  const hours = minutes / 60n;
  return hours === 0n ? `${sign}${minutes}m${seconds}` : `${sign}${hours}h${minutes % 60n}m${seconds}`;
}

/** `amount` in units of `unit`, without trailing zeros. */
function decimal(amount: bigint, unit: bigint): string {
  const fraction = String(unit + (amount % unit))
    .slice(1)
    .replace(/0+$/, '');
  return `${amount / unit}${fraction === '' ? '' : `.${fraction}`}`;
}
