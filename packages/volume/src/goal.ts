import type { PodWork, WorkerState } from '@kubus/contracts';

/** `make`: all volumes are to be there. `keep`: what is there stays. `remove`: nothing of the pod's volumes is to be left. */
export type VolumeGoal = 'make' | 'keep' | 'remove';

/**
 * What is to become of a pod's volumes. A container may still use them until its worker says that none is left, so a pod
 * that ends keeps what it has and gets nothing more; and what is not known of yet is not taken for gone.
 *
 * @param complete all works and all workers are known, so that a missing one means that there is none
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
