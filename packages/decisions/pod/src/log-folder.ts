/** The longest name of a file in the kernel's file systems, in bytes. */
const LONGEST = 255;

interface Named {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The name of a pod's log folder (behaviour:labels-paths-logs). */
export function logFolder(pod: Named): string {
  return `${pod.namespace}_${pod.name}_${pod.uid}`;
}

/**
 * By how many characters that name is too long to exist; 0 when it is not. The API server does not check it, and the reference tries to create
 * the folder again and again.
 */
export function logFolderExcess(pod: Named): number {
  return Math.max(0, logFolder(pod).length - LONGEST);
}
