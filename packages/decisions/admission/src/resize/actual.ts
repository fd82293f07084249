import {
  type Container,
  type Pod,
  type ResourceList,
  type ResourceRequirements,
  type RuntimeContainer,
  formatQuantity,
} from '@kubus/contracts';
import type { PodSizes } from './sizes.ts';

const NANO_OF_MILLI = 1_000_000n;
const NANO = 1_000_000_000n;

/**
 * The resources of a container for its status (behaviour:pod-status): those of its spec, with CPU and memory as the
 * runtime reports them, or else as they were set.
 */
function actualResources(
  { resources = {} }: Pick<Container, 'resources'>,
  run: RuntimeContainer,
  given: ResourceRequirements | undefined,
): ResourceRequirements {
  if (run.state !== 'running') return resources;
  const { cpuLimit, cpuRequest, memoryLimit } = reported(run.resources);
  const limits = replaced(resources.limits, { cpu: cpuLimit, memory: memoryLimit }, given?.limits);
  const requests = replaced(resources.requests, { cpu: cpuRequest }, given?.requests);
  return { ...resources, ...(limits && { limits }), ...(requests && { requests }) };
}

/** Those of all running containers of a pod, by container id. */
export function actualOfPod(
  { spec }: Pick<Pod, 'spec'>,
  containers: readonly RuntimeContainer[],
  sizes: PodSizes,
): Map<string, ResourceRequirements> {
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  return new Map(
    containers.flatMap((run): [string, ResourceRequirements][] => {
      const container = all.find(({ name }) => name === run.name);
      if (container === undefined || run.state !== 'running') return [];
      return [[run.id, actualResources(container, run, sizes.containers[run.name])]];
    }),
  );
}

function replaced(
  list: ResourceList | undefined,
  runtime: Readonly<Record<string, string | undefined>>,
  given: ResourceList | undefined,
): ResourceList | undefined {
  if (list === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(list).map(([name, asked]) => [name, runtime[name] ?? given?.[name] ?? asked]),
  );
}

/** The runtime's kernel units as quantities. */
function reported(resources: RuntimeContainer['resources']): {
  cpuLimit?: string;
  cpuRequest?: string;
  memoryLimit?: string;
} {
  const [quota, period] = [BigInt(resources?.cpuQuota ?? '0'), BigInt(resources?.cpuPeriod ?? '0')];
  const shares = BigInt(resources?.cpuShares ?? '0');
  const memory = BigInt(resources?.memoryLimitInBytes ?? '0');
  // The kernel's minimum represents every smaller amount, so it is ambiguous.
  const limit = quota > 0n && period > 0n ? (quota * 1000n) / period : 0n;
  const request = (shares * 1000n + 1023n) / 1024n;
  const milli = (amount: bigint) => formatQuantity({ nano: amount * NANO_OF_MILLI, format: 'DecimalSI' });
  return {
    ...(limit > 10n && { cpuLimit: milli(limit) }),
    ...(request > 2n && { cpuRequest: milli(request) }),
    ...(memory > 0n && { memoryLimit: formatQuantity({ nano: memory * NANO, format: 'BinarySI' }) }),
  };
}
