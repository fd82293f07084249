import type { Pod } from '@kubus/contracts';
import type { WorkerDeps } from './worker-deps.ts';

/** Whether mounts of the pod can be read-only all the way down; false where the runtime does not say so (KEP-3857). */
export function hasRecursiveReadOnly(
  { objects, runtime }: Pick<WorkerDeps, 'objects' | 'runtime'>,
  { spec }: Pick<Pod, 'spec'>,
): boolean {
  const { runtimeClassName = '' } = spec;
  const ofClass = runtimeClassName !== '' && objects.hasApi !== false;
  const found = ofClass ? objects.runtimeClass(runtimeClassName) : { handler: '' };
  if (typeof found === 'string') return false;
  return runtime()?.handlers?.[found.handler]?.recursiveReadOnlyMounts === true;
}
