import { parseQuantity, quantityUnits } from '@kubus/contracts';
import * as z from 'zod';

/** A quantity such as `200Mi`; whole bytes when read. */
export const quantitySchema = z.string().transform((text, context) => {
  const quantity = parseQuantity(text);
  const units = quantity === undefined ? 0 : Number(quantityUnits(quantity));
  if (units > 0 && Number.isSafeInteger(units)) return units;
  context.addIssue({ code: 'custom', message: `"${text}" is not a quantity like 200Mi` });
  return z.NEVER;
});
