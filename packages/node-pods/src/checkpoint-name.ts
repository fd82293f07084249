/**
 * The name of the file with a checkpoint of a container (KEP-2008).
 *
 * @param now milliseconds since 1970
 */
export function checkpointName(namespace: string, pod: string, container: string, now: number): string {
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  return `checkpoint-${pod}_${namespace}-${container}-${time}.tar`;
}
