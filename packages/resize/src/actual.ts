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
 * The resources of a container for its status (kubelet behaviour 1.12): of those in its spec, CPU and memory as the runtime
 * tells them; where it does not, as they were given.
 */
export function actualResources(
  { resources = {} }: Pick<Container, 'resources'>,
  run: RuntimeContainer,
  given: ResourceRequirements | undefined,
): ResourceRequirements {
  if (run.state !== 'running') return resources;
  const { cpuLimit, cpuRequest, memoryLimit } = told(run.resources);
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
function told(resources: RuntimeContainer['resources']): {
  cpuLimit?: string;
  cpuRequest?: string;
  memoryLimit?: string;
} {
  const [quota, period] = [BigInt(resources?.cpuQuota ?? '0'), BigInt(resources?.cpuPeriod ?? '0')];
  const shares = BigInt(resources?.cpuShares ?? '0');
  const memory = BigInt(resources?.memoryLimitInBytes ?? '0');
  // The kernel's least amounts stand for every smaller one, so they tell nothing.
  const limit = quota > 0n && period > 0n ? (quota * 1000n) / period : 0n;
  const request = (shares * 1000n + 1023n) / 1024n;
  const milli = (amount: bigint) => formatQuantity({ nano: amount * NANO_OF_MILLI, format: 'DecimalSI' });
  return {
    ...(limit > 10n && { cpuLimit: milli(limit) }),
    ...(request > 2n && { cpuRequest: milli(request) }),
    ...(memory > 0n && { memoryLimit: formatQuantity({ nano: memory * NANO, format: 'BinarySI' }) }),
  };
}
