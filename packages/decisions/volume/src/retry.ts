import type { VolumePlan, VolumeStage } from './step.ts';

const FIRST_MS = 500;
const LONGEST_MS = 122_000;

/** Milliseconds until the next attempt after this number of failures in a row (behaviour:volumes, reconcile order). */
export function retryWait(failures: number): number {
  return Math.min(FIRST_MS * 2 ** Math.max(0, failures - 1), LONGEST_MS);
}

const OPERATIONS: Readonly<Record<Exclude<VolumeStage, 'claim'>, string>> = {
  attach: 'MountVolume.WaitForAttach',
  device: 'MountVolume.MountDevice',
  setUp: 'MountVolume.SetUp',
};

/** The message of a FailedMount event. A problem of a claim concerns the pod as a whole. */
export function failedMount({ name, specName = name, ...plan }: VolumePlan, error: string): string {
  const at = ('at' in plan ? plan.at : undefined) ?? 'setUp';
  if (at !== 'claim') return `${OPERATIONS[at]} failed for volume "${specName}" : ${error}`;
  const volumes = `unmounted volumes=[${name}], unattached volumes=[], failed to process volumes=[${name}]`;
  return `Unable to attach or mount volumes: ${volumes}: ${error}`;
}
