import { CommandFailed } from '@kubus/bus';
import { ContainerConfigError, type ContainerSettings, environmentPlan } from '@kubus/container-config';
import { type Container, type Pod, type SubPathMount, podRefOf, prepareSubPaths } from '@kubus/contracts';
import { processToComplete } from './objects.ts';
import { type Pass, TRANSIENT_MS, unlessCancelled } from './pass.ts';
import { throwIfObjectsAwaited } from './runtime-answer.ts';
import { VolumesAwaited } from './volumes.ts';

/**
 * Where the parts of volumes are that a container mounts, by the index of the mount. The volume manager is asked each time
 * that a container starts: what is at a path may be another file by then.
 *
 * Throws ContainerConfigError when a path can not be had as the pod asks.
 */
export async function containerSubPaths(
  pass: Pass,
  pod: Pod,
  container: Container,
  settings: ContainerSettings,
): Promise<ReadonlyMap<number, string>> {
  const mounts = subPathMounts(pod, container);
  if (mounts.length === 0) return new Map();
  const environment = environmentPlan(pod, container, settings);
  const { objects } = processToComplete(pass, pod, { environment, command: [], args: [] });
  const request = { ref: podRefOf(pod), container: container.name, mounts, environment, objects };
  try {
    const call = pass.deps.bus.call(prepareSubPaths, pass.ref.uid, request, { causes: pass.runtime.cause });
    const { paths } = (await unlessCancelled(pass, call)).result;
    return new Map(Object.entries(paths).map(([index, path]) => [Number(index), path]));
  } catch (error) {
    throwIfObjectsAwaited(error);
    if (!(error instanceof CommandFailed)) throw error;
    // It has begun anew since it told that the volumes are there.
    if (error.code === 'VolumesNotReady') throw new VolumesAwaited(error.message, TRANSIENT_MS, { cause: error });
    throw new ContainerConfigError(error.message, { cause: error });
  }
}

/** Of an image the runtime itself shows a part. */
function subPathMounts({ spec }: Pod, { volumeMounts = [] }: Container): SubPathMount[] {
  const images = new Set(spec.volumes?.flatMap(({ name, image }) => (image === undefined ? [] : [name])));
  return volumeMounts.flatMap(({ name: volume, subPath = '', subPathExpr = '' }, index) => {
    if (images.has(volume) || (subPath === '' && subPathExpr === '')) return [];
    return { index, volume, ...(subPathExpr === '' ? { subPath } : { subPathExpr }) };
  });
}
