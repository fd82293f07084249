import type { MemoryReservation } from '@kubus/container-config';

/** What the pods of each class request together, in bytes. Pods of the class BestEffort request nothing. */
export interface MemoryRequests {
  readonly guaranteed: bigint;
  readonly burstable: bigint;
}

/** Bytes that the kernel does not take from the cgroup of all pods, and those that it takes from that of burstable pods last. */
export interface ProtectedMemory {
  readonly pods: bigint;
  readonly burstable: bigint;
}

/**
 * How much memory of the pods is protected together (KEP-2570; behaviour:qos-and-cgroups): a cgroup has to protect at least what those below
 * it do.
 */
export function protectedMemory(
  { guaranteed, burstable }: MemoryRequests,
  reservation: MemoryReservation,
): ProtectedMemory {
  return reservation === 'None' ? { pods: 0n, burstable: 0n } : { pods: guaranteed + burstable, burstable };
}

/** The share of the requested memory that pods of lower classes cannot use (qosReserved). */
export interface MemoryReserve {
  /** 0 to 100. */
  readonly percent: bigint;
  /** Bytes of memory that all pods may use together. */
  readonly allocatable: bigint;
}

/**
 * What the tiers may use, in bytes, when a percentage of the requests of higher classes is reserved (behaviour:qos-and-cgroups). Undefined
 * where nothing would be left: to the kernel 0 would mean that nothing may run.
 */
export function reservedTierMemory(
  { guaranteed, burstable }: MemoryRequests,
  { percent, allocatable }: MemoryReserve,
): Readonly<Record<'burstable' | 'besteffort', bigint | undefined>> {
  const ofBurstable = allocatable - (guaranteed * percent) / 100n;
  const ofBestEffort = ofBurstable - (burstable * percent) / 100n;
  const positive = (bytes: bigint) => (allocatable > 0n && bytes > 0n ? bytes : undefined);
  return { burstable: positive(ofBurstable), besteffort: positive(ofBestEffort) };
}
