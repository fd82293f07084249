import { type Quantity, formatQuantity, parseImageName, parseQuantity } from '@kubus/contracts';

/** `Always` for the tag `latest`, explicit or implied; otherwise, and for an invalid image name, `IfNotPresent`. */
export function defaultPullPolicy(image: string): string {
  const name = parseImageName(image);
  if (name === undefined) return 'IfNotPresent';
  const latest = name.tag === undefined ? name.digest === undefined : name.tag === 'latest';
  return latest ? 'Always' : 'IfNotPresent';
}

/** `value`, or `fallback` when it is omitted or empty, which are the same in the API. */
export function or(value: string | undefined, fallback: string): string {
  return value === undefined || value === '' ? fallback : value;
}

/** A thousandth, in a quantity's unit of 10^-9. */
export const MILLI = 1_000_000n;

/** The canonical text of a quantity, rounded to `step` billionths. Text that is not a quantity is returned unchanged, for validation. */
export function canonical(text: string, step = 1n): string {
  const quantity = parseQuantity(text.trim());
  return quantity === undefined ? text : formatQuantity(roundUp(quantity, step));
}

function roundUp(quantity: Quantity, step: bigint): Quantity {
  const rest = quantity.nano % step;
  if (rest === 0n) return quantity;
  return { ...quantity, nano: quantity.nano - rest + (quantity.nano < 0n ? -step : step) };
}
