import { CommandFailed } from '@kubus/bus';
import { ContainerConfigError, type ContainerSettings, environmentPlan } from '@kubus/container-config';
import { type Container, type Pod, type SubPathMount, podRefOf, prepareSubPaths } from '@kubus/contracts';
import { type ObjectSync, processToComplete } from '../objects/objects.ts';
import { throwIfObjectsAwaited } from '../runtime/runtime-answer.ts';
import { TRANSIENT_MS, VolumesAwaited } from '../sync/errors.ts';
import { unlessCancelled } from '../sync/pod-sync.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** What finding the parts of volumes uses. */
export type SubPathSync = ObjectSync & Pick<WorkerDeps, 'bus'>;

/**
 * The locations of the parts of volumes that a container mounts, by the index of the mount. The volume manager is queried each time
 * that a container starts: the path may lead to another file by then.
 *
 * Throws a ContainerConfigError when a path cannot be used as the pod requires.
 */
export async function containerSubPaths(
  sync: SubPathSync,
  pod: Pod,
  container: Container,
  settings: ContainerSettings,
): Promise<ReadonlyMap<number, string>> {
  const mounts = subPathMounts(pod, container);
  if (mounts.length === 0) return new Map();
  const environment = environmentPlan(pod, container, settings);
  const { objects } = processToComplete(sync, pod, { environment, command: [], args: [] });
  const request = { ref: podRefOf(pod), container: container.name, mounts, environment, objects };
  try {
    const call = sync.bus.call(prepareSubPaths, sync.ref.uid, request, { causes: sync.runtime.cause });
    const { paths } = (await unlessCancelled(sync, call)).result;
    return new Map(Object.entries(paths).map(([index, path]) => [Number(index), path]));
  } catch (error) {
    throwIfObjectsAwaited(error);
    if (!(error instanceof CommandFailed)) throw error;
    // The volume manager has restarted since it published that the volumes are mounted.
    if (error.code === 'VolumesNotReady') throw new VolumesAwaited(error.message, TRANSIENT_MS, { cause: error });
    throw new ContainerConfigError(error.message, { cause: error });
  }
}

/** For an image, the runtime itself mounts the part. */
function subPathMounts({ spec }: Pod, { volumeMounts = [] }: Container): SubPathMount[] {
  const images = new Set(spec.volumes?.flatMap(({ name, image }) => (image === undefined ? [] : [name])));
  return volumeMounts.flatMap(({ name: volume, subPath = '', subPathExpr = '' }, index) => {
    if (images.has(volume) || (subPath === '' && subPathExpr === '')) return [];
    return { index, volume, ...(subPathExpr === '' ? { subPath } : { subPathExpr }) };
  });
}
