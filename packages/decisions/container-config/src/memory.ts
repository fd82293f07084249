import type { Container, Pod } from '@kubus/contracts';
import { isCritical, qosClass } from '@kubus/pod';
import type { HugepageLimit } from '@kubus/proto/cri';
import { limitOf, requestOf, units } from './amounts.ts';

export interface SwapSettings {
  /** `memorySwap.swapBehavior`; the reference's default is `NoSwap`. */
  readonly behavior: 'NoSwap' | 'LimitedSwap';
  /** The node's swap, in bytes. */
  readonly capacity: bigint;
}

/** `memoryReservationPolicy`: whether the memory that pods request is protected from reclaim. */
export type MemoryReservation = 'None' | 'TieredReservation';

/** Memory protection by cgroup v2 (KEP-2570); off in the reference unless the feature gate MemoryQoS is enabled. */
export interface MemoryQosSettings {
  /** `memoryThrottlingFactor`: the fraction of the range between request and limit that can be used without throttling. */
  readonly throttlingFactor: number;
  readonly reservation: MemoryReservation;
  /** The memory in bytes that all pods may use together: the limit of containers without one. 0: unknown. */
  readonly allocatable: bigint;
  /** Bytes. */
  readonly pageSize: bigint;
}

/**
 * The bytes of swap that a container may use (KEP-2400): none, or a share of the node's swap in proportion to its memory
 * request. The latter only for containers of burstable pods whose limit is greater than the request.
 */
export function swapLimit(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Pick<Container, 'resources'>,
  { behavior, capacity }: SwapSettings,
  memoryCapacity: bigint,
): bigint {
  if (behavior === 'NoSwap' || !maySwap(pod, container)) return 0n;
  const request = units(requestOf(container, 'memory'));
  if (memoryCapacity === 0n || request > memoryCapacity) return 0n;
  // With the rounding of the reference, which multiplies floating point numbers.
  return BigInt(Math.trunc((Number(request) / Number(memoryCapacity)) * Number(capacity)));
}

/** Whether a container gets swap where `memorySwap.swapBehavior` is `LimitedSwap` (KEP-2400). */
export function maySwap(pod: Pick<Pod, 'metadata' | 'spec'>, container: Pick<Container, 'resources'>): boolean {
  const noRoom = units(requestOf(container, 'memory')) === units(container.resources?.limits?.['memory']);
  return !isCritical(pod) && qosClass(pod) === 'Burstable' && !noRoom;
}

/**
 * How much memory of a container the kernel protects, and above which usage it throttles the container, as cgroup v2 files
 * (KEP-2570; behaviour:qos-and-cgroups).
 */
export function memoryProtection(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'resources'>,
  { throttlingFactor, reservation, allocatable, pageSize }: MemoryQosSettings,
): Record<string, string> {
  const request = units(requestOf(container, 'memory'));
  const limit = units(container.resources?.limits?.['memory']);
  const isProtected = reservation === 'TieredReservation' && request > 0n;
  const files: Record<string, string> = isProtected
    ? { [qosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) }
    : { 'memory.min': '0', 'memory.low': '0' };
  // With equal request and limit there is nothing to throttle; without either, the reference does not throttle.
  if (request === limit) return files;
  const bound = limit > 0n ? limit : allocatable;
  const wanted = Math.floor(Number(request) + Number(bound - request) * throttlingFactor);
  const high = (BigInt(wanted) / pageSize) * pageSize;
  if (high > request) files['memory.high'] = String(high);
  return files;
}

/**
 * A limit for every huge page size that the kernel supports: 0 unless the container, or else the pod, has a limit.
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

/** The size as in cgroup file names: `2MB` is 2 times 1024². */
export function pageSizeName(bytes: bigint): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024n && unit < UNITS.length - 1) [value, unit] = [value / 1024n, unit + 1];
  return `${value}${UNITS[unit] ?? ''}`;
}
