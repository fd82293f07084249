const FIRST_MS = 500;
const LONGEST_MS = 122_000;

/** Milliseconds until the next try after so many failed ones in a row (kubelet behaviour 1.13, reconcile order). */
export function retryWait(failures: number): number {
  return Math.min(FIRST_MS * 2 ** Math.max(0, failures - 1), LONGEST_MS);
}

/** What a pod's user is told of a volume that could not be made: the message of a FailedMount event. */
export function failedMount(volume: string, error: string): string {
  return `MountVolume.SetUp failed for volume "${volume}" : ${error}`;
}
