import type { Container, Pod } from '@kubus/contracts';
import { qosClass } from '@kubus/pod-status';
import type { HugepageLimit } from '@kubus/proto/cri';
import { limitOf, requestOf, units } from './amounts.ts';
import { isCritical } from './critical.ts';

export interface SwapSettings {
  /** `memorySwap.swapBehavior`; the reference's default is `NoSwap`. */
  readonly behavior: 'NoSwap' | 'LimitedSwap';
  /** Bytes of swap of the node. */
  readonly capacity: bigint;
}

/** Memory protection by cgroup v2 (KEP-2570); off in the reference unless its gate MemoryQoS is on. */
export interface MemoryQosSettings {
  /** `memoryThrottlingFactor`: the part of what lies between request and limit that is used without being slowed. */
  readonly throttlingFactor: number;
  /** `memoryReservationPolicy`: whether requests are kept from being reclaimed. */
  readonly reservation: 'None' | 'TieredReservation';
  /** Bytes of memory that the node has for pods: the limit of those without one. */
  readonly allocatable: bigint;
  /** Bytes. */
  readonly pageSize: bigint;
}

/**
 * The bytes of swap that a container may use (KEP-2400): none, or its part of the node's swap as its request is of the
 * node's memory. The latter only for containers of burstable pods that leave room between request and limit.
 */
export function swapLimit(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Pick<Container, 'resources'>,
  { behavior, capacity }: SwapSettings,
  memoryCapacity: bigint,
): bigint {
  const request = units(requestOf(container, 'memory'));
  const noRoom = request === units(container.resources?.limits?.['memory']);
  if (behavior === 'NoSwap' || isCritical(pod) || qosClass(pod) !== 'Burstable' || noRoom) return 0n;
  return memoryCapacity === 0n ? 0n : (request * capacity) / memoryCapacity;
}

/** Which of a container's memory the kernel keeps and from where on it slows the container, as cgroup v2 files. */
export function memoryProtection(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'resources'>,
  { throttlingFactor, reservation, allocatable, pageSize }: MemoryQosSettings,
): Record<string, string> {
  const request = units(requestOf(container, 'memory'));
  const limit = units(container.resources?.limits?.['memory']);
  const files: Record<string, string> = {};
  if (reservation === 'TieredReservation' && request > 0n) {
    files[qosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low'] = String(request);
  }
  // Equal request and limit leave nothing to slow down.
  if (request === limit && limit > 0n) return files;
  const bound = limit > 0n ? limit : allocatable;
  const wanted = Math.floor(Number(request) + Number(bound - request) * throttlingFactor);
  const high = (BigInt(wanted) / pageSize) * pageSize;
  if (high > request) files['memory.high'] = String(high);
  return files;
}

/**
 * A limit for every size of huge pages that the kernel has: none of them unless the container, or else the pod, has one.
 *
 * @param sizes bytes, in the kernel's order
 */
export function hugepageLimits(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'resources'>,
  sizes: readonly bigint[],
): HugepageLimit[] {
  const named = [pod.spec.resources?.limits, container.resources?.limits].flatMap((limits) =>
    Object.keys(limits ?? {}),
  );
  return sizes.map((size) => {
    const resource = named.find((name) => name.startsWith(HUGEPAGES) && units(name.slice(HUGEPAGES.length)) === size);
    const limit = resource === undefined ? 0n : units(limitOf(pod, container, resource));
    return { pageSize: pageSizeName(size), limit: String(limit) };
  });
}

const HUGEPAGES = 'hugepages-';
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** As cgroups name it: `2MB` is 2 times 1024². */
export function pageSizeName(bytes: bigint): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024n && unit < UNITS.length - 1) [value, unit] = [value / 1024n, unit + 1];
  return `${value}${UNITS[unit] ?? ''}`;
}
