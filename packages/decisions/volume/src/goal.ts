import type { PodWork, WorkerState } from '@kubus/contracts';

/** `make`: mount all volumes. `keep`: keep the mounted ones. `remove`: unmount and remove all. */
export type VolumeGoal = 'make' | 'keep' | 'remove';

/**
 * What to do with a pod's volumes. Containers may use them until the worker reports that none is left, so an ending pod
 * keeps its volumes and gets no further ones. A pod that is not known yet does not count as removed.
 *
 * @param complete all works and all workers are known, so that a missing one means that it does not exist
 */
export function volumeGoal(
  work: Pick<PodWork, 'work' | 'pod'> | undefined,
  worker: WorkerState | undefined,
  complete: boolean,
): VolumeGoal {
  if (worker === 'terminated' || worker === 'finished') return 'remove';
  if (worker !== 'terminating' && work?.work === 'sync' && work.pod !== undefined) return 'make';
  return worker === undefined && work === undefined && complete ? 'remove' : 'keep';
}
