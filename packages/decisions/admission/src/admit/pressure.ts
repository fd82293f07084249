import type { Pod, PressureCondition, Refusal } from '@kubus/contracts';
import { isCritical, qosClass } from '@kubus/pod';
import { tolerates } from './taints.ts';

const MEMORY_TAINT = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/**
 * Refuses pods that would use more of what the node is short of (behaviour:admission, row 1): for lack of memory alone only those without any
 * requests, which cannot be relied on to use none.
 */
export function refusePressure(pod: Pod, pressure: readonly PressureCondition[] = []): Refusal | undefined {
  if (pressure.length === 0 || isCritical(pod)) return undefined;
  const isOnlyMemory = pressure.every((condition) => condition === 'MemoryPressure');
  const isTolerated = (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, MEMORY_TAINT));
  if (isOnlyMemory && (qosClass(pod) !== 'BestEffort' || isTolerated)) return undefined;
  return { reason: 'Evicted', message: `The node had condition: [${pressure.join(' ')}]. ` };
}
