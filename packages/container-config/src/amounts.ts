import { type Container, type Pod, parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';

/** A quantity in thousandths; nothing, or what is no quantity, is 0. */
export function milli(text: string | undefined): bigint {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0n : quantityMilli(quantity);
}

/** A quantity in whole units, such as bytes; nothing, or what is no quantity, is 0. */
export function units(text: string | undefined): bigint {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0n : quantityUnits(quantity);
}

/**
 * A container's limit; where it has none, that of the pod as a whole, which its containers share (KEP-2837).
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

/** A container's request; as the API server does, a limit without a request is one. */
export function requestOf(container: Pick<Container, 'resources'>, resource: string): string | undefined {
  return container.resources?.requests?.[resource] ?? container.resources?.limits?.[resource];
}
