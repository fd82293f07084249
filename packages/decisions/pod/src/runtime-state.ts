import type { RuntimePod } from '@kubus/contracts';
import { isDeepEqual } from './deep-equal.ts';

/** Whether the runtime says the same of a pod, whenever each state was read; undefined: it has nothing of the pod. */
export function isSameRuntimeState(a: RuntimePod | undefined, b: RuntimePod | undefined): boolean {
  return a === b || isDeepEqual(a && { ...a, stamp: undefined }, b && { ...b, stamp: undefined });
}
