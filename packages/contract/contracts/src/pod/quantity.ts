/** The format in which a quantity was written, and in which it is formatted again. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** An exact resource quantity: CPUs, bytes or a count, in units of 10^-9, the finest precision of the API. */
export interface Quantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

const NANO = 1_000_000_000n;
/** The greatest quantity of the API, 2^63 - 1; greater ones are reduced to it. */
const MAX_NANO = (2n ** 63n - 1n) * NANO;
/** With an exponent beyond this, a value is above the greatest or below the finest one, whatever digits fit in a manifest. */
const MAX_EXPONENT = 10_000;

const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binarySuffixes: Readonly<Record<string, bigint>> = {
  Ki: 2n ** 10n,
  Mi: 2n ** 20n,
  Gi: 2n ** 30n,
  Ti: 2n ** 40n,
  Pi: 2n ** 50n,
  Ei: 2n ** 60n,
};

const shape = /^([+-])?(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:(Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d+)|([numkMGTPE]?))$/;

/**
 * Parses `100m`, `1.5Gi`, `1e3`, `0.1` exactly, or returns undefined when the text is not a quantity. Digits below
 * 10^-9 are rounded away from zero, so that a nonzero request never becomes zero.
 * Source: k8s.io/apimachinery/pkg/api/resource, the grammar in the documentation of Quantity.
 */
export function parseQuantity(text: string): Quantity | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = match[4] ?? '', , binary, exponent, decimal = ''] = match;
  const digits = BigInt(whole + fraction);
  const power = Number(exponent ?? decimalSuffixes[decimal] ?? 0);
  if (Math.abs(power) > MAX_EXPONENT) return undefined;

  const scale = power + 9 - fraction.length;
  const multiplied = digits * (binary === undefined ? 1n : (binarySuffixes[binary] ?? 1n));
  const magnitude = scale >= 0 ? multiplied * 10n ** BigInt(scale) : divideUp(multiplied, 10n ** BigInt(-scale));
  const capped = magnitude > MAX_NANO ? MAX_NANO : magnitude;
  return {
    nano: sign === '-' ? -capped : capped,
    format: binary !== undefined ? 'BinarySI' : exponent !== undefined ? 'DecimalExponent' : 'DecimalSI',
  };
}

/** In whole units (bytes, CPUs), rounded away from zero. */
export function quantityUnits({ nano }: Quantity): bigint {
  return divideUp(nano, NANO);
}

/** In thousandths (milli-CPUs), rounded away from zero. */
export function quantityMilli({ nano }: Quantity): bigint {
  return divideUp(nano, 1_000_000n);
}

/**
 * The canonical form of a quantity: no fraction, the greatest suffix that needs none, in the format in which it was read.
 * Binary suffixes are only used for whole numbers of 1024 or more: `1.5Gi` is `1536Mi`, and `0.5Ki` is `512`.
 */
export function formatQuantity({ nano, format }: Quantity): string {
  const magnitude = nano < 0n ? -nano : nano;
  const sign = nano < 0n ? '-' : '';
  if (magnitude === 0n) return '0';
  if (format === 'BinarySI' && magnitude >= 1024n * NANO && magnitude % NANO === 0n) {
    let [number, suffix] = [magnitude / NANO, ''];
    for (const [name, factor] of Object.entries(binarySuffixes)) {
      if ((magnitude / NANO) % factor === 0n) [number, suffix] = [magnitude / NANO / factor, name];
    }
    return `${sign}${number.toString()}${suffix}`;
  }
  let [number, power] = [magnitude, -9];
  while (number % 1000n === 0n && power < 18) [number, power] = [number / 1000n, power + 3];
  if (format === 'DecimalExponent') return `${sign}${number.toString()}${power === 0 ? '' : `e${power}`}`;
  const [suffix = ''] = Object.entries(decimalSuffixes).find(([, value]) => value === power) ?? [];
  return `${sign}${number.toString()}${suffix}`;
}

function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  if (value % by === 0n) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

/** A resource that is neither Kubernetes' own nor a quota, such as `example.com/gpu` (k8s.io/component-helpers, IsExtendedResourceName). */
export function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}
