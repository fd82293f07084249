import { type Container, type Pod, parseQuantity } from '@kubus/contracts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const COMPUTE = ['cpu', 'memory'] as const;

/**
 * The quality-of-service class of a pod (behaviour:qos-and-cgroups): by the CPU and memory of the pod as a whole where it sets
 * them (KEP-2837), otherwise by those of all its containers.
 */
export function qosClass({ spec }: Pick<Pod, 'spec'>): QosClass {
  const ofPod = COMPUTE.some((name) => amount(spec.resources?.requests?.[name] ?? spec.resources?.limits?.[name]) > 0n);
  const containers: Pick<Container, 'resources'>[] = ofPod
    ? [spec]
    : [...(spec.initContainers ?? []), ...spec.containers];
  let some = false;
  let all = true;
  for (const { resources } of containers) {
    for (const name of COMPUTE) {
      const request = amount(resources?.requests?.[name]);
      const limit = amount(resources?.limits?.[name]);
      if (request > 0n || limit > 0n) some = true;
      if (limit === 0n || (request !== 0n && request !== limit)) all = false;
    }
  }
  if (!some) return 'BestEffort';
  return all ? 'Guaranteed' : 'Burstable';
}

function amount(text: string | undefined): bigint {
  return text === undefined ? 0n : (parseQuantity(text)?.nano ?? 0n);
}
