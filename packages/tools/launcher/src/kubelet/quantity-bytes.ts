import { parseQuantity, quantityUnits } from '@kubus/contracts';

/** A valid quantity in bytes; 0 for an invalid one. */
export function bytes(quantity: string): number {
  const parsed = parseQuantity(quantity);
  return parsed === undefined ? 0 : Number(quantityUnits(parsed));
}
