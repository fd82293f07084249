const SHAPE = /^([+-]?)0*(\d*)(?:\.(\d*))?(?:([KMGTPE])i|[eE]([+-]?\d+)|([numkMGTPE]?))$/;
const DECIMAL = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 } as const;
const BINARY = 'KMGTPE';
/** The finest power of ten that is kept. */
const NANO = -9;
const MILLI = -3;
const MAX = 2n ** 63n - 1n;

/** A quantity in the reference's representation: a number with a power of ten, or a larger type where that does not suffice. */
interface Held {
  readonly value: bigint;
  readonly scale: number;
  readonly big: boolean;
  /** The original text, kept by quantities that need not be formatted again. */
  readonly text: string;
  readonly format: string;
}

/**
 * A quantity as it enters the reference kubelet's hash of a pod: the hash depends on the amount and on its notation.
 * Source: ParseQuantity and RoundUp of k8s.io/apimachinery/pkg/api/resource.
 *
 * @param list in a list of resources, where amounts are rounded to a thousandth
 */
export function printedQuantity(text: string | undefined, list: boolean): string {
  const held = text === undefined ? undefined : hold(text.trim());
  return print(held === undefined || !list ? held : roundToMilli(held));
}

function hold(text: string): Held | undefined {
  if (text === '0') return { value: 0n, scale: 0, big: false, text, format: 'DecimalSI' };
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, sign = '', digits = '', fraction = '', binary, exponent, suffix = ''] = match;
  const whole = digits === '' ? '0' : digits;
  const parts = { text, sign: sign === '-' ? -1n : 1n, whole, fraction };
  if (binary !== undefined) return holdBinary(parts, (BINARY.indexOf(binary) + 1) * 10);
  const power = exponent === undefined ? DECIMAL[suffix as keyof typeof DECIMAL] : Number(exponent);
  return holdDecimal(parts, power, exponent === undefined ? 'DecimalSI' : 'DecimalExponent');
}

interface Parts {
  readonly text: string;
  readonly sign: bigint;
  readonly whole: string;
  readonly fraction: string;
}

function holdDecimal({ text, sign, whole, fraction }: Parts, power: number, format: string): Held {
  const shifted = whole + fraction;
  const scale = power - fraction.length;
  const value = sign * BigInt(shifted);
  if (shifted.length > 18 || scale < NANO) return bounded(value, scale, format);
  const isCanonical = scale % 3 === 0 && !shifted.endsWith('000') && !shifted.startsWith('0');
  return { value, scale, big: false, text: isCanonical ? text : '', format };
}

function holdBinary({ text, sign, whole, fraction }: Parts, bits: number): Held {
  const factor = 2n ** BigInt(bits);
  const format = 'BinarySI';
  if (fraction !== '' || 15 - whole.length - Math.trunc((bits * 3) / 10) - 1 < 0) {
    return bounded(sign * BigInt(whole + fraction) * factor, -fraction.length, format);
  }
  const number = BigInt(whole);
  return { value: sign * number * factor, scale: 0, big: false, text: (number & 7n) === 0n ? '' : text, format };
}

/** Rounds to a billionth, and limits a binary quantity to the maximum value. */
function bounded(value: bigint, scale: number, format: string): Held {
  const nano = rescale(value, scale, NANO);
  const unit = 10n ** BigInt(-NANO);
  if (format !== 'BinarySI') return { value: nano, scale: NANO, big: true, text: '', format };
  if (nano > MAX * unit) return { value: MAX, scale: 0, big: true, text: '', format };
  return { value: nano, scale: NANO, big: true, text: '', format: nano > 0n && nano < unit ? 'DecimalSI' : format };
}

function roundToMilli(held: Held): Held {
  if (!held.big && held.scale >= MILLI) return held;
  return { ...held, value: rescale(held.value, held.scale, MILLI), scale: MILLI, text: '' };
}

/** In units of another power of ten, rounded away from zero. */
function rescale(value: bigint, from: number, to: number): bigint {
  if (from >= to) return value * 10n ** BigInt(from - to);
  const unit = 10n ** BigInt(to - from);
  const rest = value % unit;
  return value / unit + (rest === 0n ? 0n : rest > 0n ? 1n : -1n);
}

function print(held: Held | undefined): string {
  const { value, scale, big, text, format } = held ?? { value: 0n, scale: 0, big: false, text: '', format: '' };
  const small = big ? { value: 0n, scale: 0 } : { value, scale };
  const amount = `i:(resource.int64Amount){value:(int64)${small.value.toString()} scale:(resource.Scale)${small.scale}}`;
  const exact = big
    ? `{unscaled:(big.Int){neg:(bool)${value < 0n} abs:(big.nat)[${words(value).join(' ')}]} scale:(inf.Scale)${0 - scale}}`
    : '<nil>';
  return `{${amount} d:(resource.infDecAmount){Dec:(*inf.Dec)${exact}} s:(string)${text} Format:(resource.Format)${format}}`;
}

/** The amount without its sign as 64-bit words, the lowest first. */
function words(value: bigint): string[] {
  const all: string[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 64n) all.push((rest & (2n ** 64n - 1n)).toString());
  return all;
}
