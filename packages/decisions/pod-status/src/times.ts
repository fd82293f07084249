import { timeOfMs } from '@kubus/pod';

/** As {@link timeOf}, but the start of the Unix epoch for a time that a run has never reached, such as that of a start that failed. */
export function pastTimeOf(nanos: string): string {
  return timeOf(nanos) ?? timeOfMs(0);
}

/** RFC 3339 in whole seconds, as in the API; null for a time that has not been reached. `nanos`: since the Unix epoch, decimal. */
export function timeOf(nanos: string): string | null {
  if (nanos === '0' || nanos === '') return null;
  return timeOfMs(Number(BigInt(nanos) / 1_000_000n));
}
