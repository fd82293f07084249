import { type Pod, type PodFailure, type Quantity, formatQuantity, parseQuantity } from '@kubus/contracts';
import { podResourceList } from '@kubus/pod-status';
import type { Disks } from './disks.ts';
import type { Candidate, PodUse } from './pod-use.ts';

const RESOURCE = 'ephemeral-storage';
const NANO = 1_000_000_000n;

/** A pod that uses more of the node's own disk than its manifest allows, and the signal under which that is counted. */
export interface StorageExcess {
  readonly signal: 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly failure: PodFailure;
}

/** Whether anything limits what the pod may use of the node's disk, so that it has to be measured. */
export function hasStorageLimit(pod: Pod): boolean {
  return podLimit(pod) !== undefined || pod.spec.containers.some(({ resources }) => limitOf(resources) !== undefined);
}

/**
 * Why a pod is evicted for its use of the node's disk (behaviour:eviction, local storage): layers, logs and local volumes together exceed
 * the limit of the pod, or layer and logs of a regular container exceed its own. Layers on a disk of their own count for the pod
 * alone, as in the reference. Undefined: it is not evicted, or nothing is known of it.
 */
export function storageExcess({ pod, use }: Candidate, disks: Disks): StorageExcess | undefined {
  if (use === undefined) return undefined;
  const limit = podLimit(pod);
  if (limit !== undefined && exceeds(usedByPod(use), limit)) {
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `;
    return { signal: 'ephemeralpodfs.limit', failure: { reason: 'Evicted', message } };
  }
  for (const { name, rootfs, logs } of use.containers) {
    const own = limitOf(pod.spec.containers.find((one) => one.name === name)?.resources);
    const used = (logs?.usedBytes ?? 0) + (disks === 'one' ? (rootfs?.usedBytes ?? 0) : 0);
    if (own === undefined || !exceeds(used, own)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${formatQuantity(own)}". `;
    return { signal: 'ephemeralcontainerfs.limit', failure: { reason: 'Evicted', message } };
  }
  return undefined;
}

function usedByPod({ containers, volumes }: PodUse): number {
  const parts = [
    ...containers.flatMap(({ rootfs, logs }) => [rootfs, logs]),
    ...volumes.filter(({ isLocal }) => isLocal),
  ];
  return parts.reduce((sum, part) => sum + (part?.usedBytes ?? 0), 0);
}

function podLimit(pod: Pod): Quantity | undefined {
  return parseQuantity(podResourceList(pod, 'limits')[RESOURCE] ?? '');
}

/** A limit of 0 is none. */
function limitOf(resources: Pod['spec']['containers'][number]['resources']): Quantity | undefined {
  const limit = parseQuantity(resources?.limits?.[RESOURCE] ?? '');
  return limit?.nano === 0n ? undefined : limit;
}

function exceeds(bytes: number, { nano }: Quantity): boolean {
  return BigInt(bytes) * NANO > nano;
}
