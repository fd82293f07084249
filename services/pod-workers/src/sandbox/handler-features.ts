import type { Pod } from '@kubus/contracts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** Whether mounts of the pod can be recursively read-only; false when the runtime does not report it (KEP-3857). */
export function hasRecursiveReadOnly(
  { objects, runtimeCondition }: Pick<WorkerDeps, 'objects' | 'runtimeCondition'>,
  { spec }: Pick<Pod, 'spec'>,
): boolean {
  const { runtimeClassName = '' } = spec;
  const ofClass = runtimeClassName !== '' && objects.hasApi !== false;
  const found = ofClass ? objects.runtimeClass(runtimeClassName) : { handler: '' };
  if (typeof found === 'string') return false;
  return runtimeCondition()?.handlers?.[found.handler]?.recursiveReadOnlyMounts === true;
}
