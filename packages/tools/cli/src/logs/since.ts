import { timeOfNanos } from '@kubus/pod';

/**
 * The time from which lines are shown (RFC 3339), for `sinceTime` of the node's API: its `sinceSeconds` takes whole seconds only.
 *
 * @param now the node's clock, in milliseconds since the Unix epoch
 */
export function sinceTime(
  options: { readonly since?: bigint | undefined; readonly sinceTime?: string | undefined },
  now: number,
): string | undefined {
  if (options.since === undefined) return options.sinceTime;
  const nanos = BigInt(Math.round(now)) * 1_000_000n - options.since;
  return timeOfNanos(nanos < 0n ? 0n : nanos);
}
