import { SIGNALS, isSignal } from '@kubus/eviction';
import { formatBytes } from '@kubus/images';

/** A number of what this signal counts, for people: `1.5 GiB`, or a plain number of inodes or processes. */
export function amount(signal: string, units: number): string {
  return isOfBytes(signal) ? formatBytes(units) : String(units);
}

/** Whether a signal counts bytes. */
export function isOfBytes(signal: string): boolean {
  return isSignal(signal) && ['memory', 'ephemeral-storage'].includes(SIGNALS[signal].resource);
}
