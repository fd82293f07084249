import { CONFIG_MIRROR, CONFIG_SOURCE, type Pod } from '@kubus/contracts';

/** Priorities of this value and above belong to the system (k8s.io/kubernetes/pkg/apis/scheduling, SystemCriticalPriority). */
export const SYSTEM_PRIORITY = 2_000_000_000;

/** Whether a pod is static: its source is not the API server. */
export function isStatic({ metadata }: Pick<Pod, 'metadata'>): boolean {
  const source = metadata.annotations?.[CONFIG_SOURCE];
  return source !== undefined && source !== 'api';
}

/** Whether a pod is a mirror pod: the API server's read-only copy of a static pod, which the node does not run. */
export function isMirror(pod: Pick<Pod, 'metadata'>): boolean {
  return mirrorOf(pod) !== undefined;
}

/** UID of the static pod of a mirror pod; undefined for any other pod. */
export function mirrorOf({ metadata }: Pick<Pod, 'metadata'>): string | undefined {
  return metadata.annotations?.[CONFIG_MIRROR];
}

/** Whether a pod is critical: a static pod, its mirror pod, or one of system priority (kubetypes.IsCriticalPod). */
export function isCritical(pod: Pick<Pod, 'metadata' | 'spec'>): boolean {
  return isStatic(pod) || isMirror(pod) || (pod.spec.priority ?? 0) >= SYSTEM_PRIORITY;
}

/** Whether a pod is the last to be killed when the node runs out of memory (kubetypes.IsNodeCriticalPod). */
export function isNodeCritical(pod: Pick<Pod, 'metadata' | 'spec'>): boolean {
  return isCritical(pod) && pod.spec.priorityClassName === 'system-node-critical';
}
