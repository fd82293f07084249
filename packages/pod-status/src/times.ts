/** The same, but for a moment of a run that was over before it had come, as that of a start that failed: the epoch's begin. */
export function pastTimeOf(nanos: string): string {
  return timeOf(nanos) ?? timeOfMs(0);
}

/** RFC 3339 in whole seconds, as the API shows times; null for a time that has not come. `nanos`: since the Unix epoch, decimal. */
export function timeOf(nanos: string): string | null {
  if (nanos === '0' || nanos === '') return null;
  return timeOfMs(Number(BigInt(nanos) / 1_000_000n));
}

/** The same of milliseconds since the Unix epoch. */
export function timeOfMs(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
