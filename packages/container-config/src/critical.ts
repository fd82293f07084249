import { CONFIG_MIRROR, CONFIG_SOURCE, type Pod } from '@kubus/contracts';

/** Priorities from here on belong to the system (k8s.io/kubernetes/pkg/apis/scheduling, SystemCriticalPriority). */
const SYSTEM_PRIORITY = 2_000_000_000;

/** Whether a pod does not come from the API server. */
export function isStatic({ metadata }: Pick<Pod, 'metadata'>): boolean {
  const source = metadata.annotations?.[CONFIG_SOURCE];
  return source !== undefined && source !== 'api';
}

/** Whether the node needs a pod: a static pod, its mirror, or one of system priority. */
export function isCritical(pod: Pick<Pod, 'metadata' | 'spec'>): boolean {
  return (
    isStatic(pod) ||
    pod.metadata.annotations?.[CONFIG_MIRROR] !== undefined ||
    (pod.spec.priority ?? 0) >= SYSTEM_PRIORITY
  );
}

/** Whether a pod is the last to go when the node runs out of memory. */
export function isNodeCritical(pod: Pick<Pod, 'metadata' | 'spec'>): boolean {
  return isCritical(pod) && pod.spec.priorityClassName === 'system-node-critical';
}
