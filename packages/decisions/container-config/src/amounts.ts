import { type Container, type Pod, parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';

/** A quantity in thousandths; 0 for undefined and for text that is not a quantity. */
export function milli(text: string | undefined): bigint {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0n : quantityMilli(quantity);
}

/** A quantity in whole units, such as bytes; 0 for undefined and for text that is not a quantity. */
export function units(text: string | undefined): bigint {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0n : quantityUnits(quantity);
}

/**
 * A container's limit; without one, that of the pod as a whole, which its containers share (KEP-2837).
 * Undefined: unlimited.
 */
export function limitOf(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'resources'>,
  resource: string,
): string | undefined {
  const own = container.resources?.limits?.[resource];
  return milli(own) > 0n ? own : pod.spec.resources?.limits?.[resource];
}

/** A container's request; a limit without a request counts as the request, as in the API server. */
export function requestOf(container: Pick<Container, 'resources'>, resource: string): string | undefined {
  return container.resources?.requests?.[resource] ?? container.resources?.limits?.[resource];
}
