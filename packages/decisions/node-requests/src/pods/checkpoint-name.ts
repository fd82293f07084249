import { timeOfMs } from '@kubus/pod';
/**
 * The name of the file with a checkpoint of a container (KEP-2008).
 *
 * @param now milliseconds since the Unix epoch
 */
export function checkpointName(namespace: string, pod: string, container: string, now: number): string {
  return `checkpoint-${pod}_${namespace}-${container}-${timeOfMs(now)}.tar`;
}
