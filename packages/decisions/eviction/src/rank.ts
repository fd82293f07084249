import { type EvictionRanking, type Pod, RANKED_MOST, podRefOf } from '@kubus/contracts';
import { isCritical } from '@kubus/pod';
import type { Disks } from './disks.ts';
import { type Candidate, type DiskUse, type PodUse, requestOf } from './pod-use.ts';
import { SIGNALS, type Signal } from './signals.ts';

/** A pod with the numbers that decide when its turn is. */
export interface Ranked {
  readonly pod: Pod;
  /** It uses more than it requests. Of processes nothing can be requested. */
  readonly exceeds: boolean;
  readonly priority: number;
  /** In bytes, inodes or processes; undefined when nothing is known of it. */
  readonly used: number | undefined;
  /** Of memory and disks, in bytes. */
  readonly requested: number;
}

type Numbers = Pick<Ranked, 'exceeds' | 'priority' | 'requested'> & { readonly used?: number | undefined };

/** What counts as a pod's use of a file system. */
type Part = 'layers' | 'logs' | 'volumes';

const everything: readonly Part[] = ['layers', 'logs', 'volumes'];

/**
 * The pods in the order in which they are to be evicted for this signal (behaviour:eviction, ranking): those of which nothing is known;
 * then those that use more than they request; then by priority, lowest first; then by use above the request, most first. For process IDs
 * priority and number of processes alone count. Pods of the same rank keep their order.
 */
export function rank(signal: Signal, disks: Disks, candidates: readonly Candidate[]): readonly Ranked[] {
  const { resource } = SIGNALS[signal];
  const ranked = candidates.map(({ pod, use }): Ranked => {
    const priority = pod.spec.priority ?? 0;
    if (resource === 'pids') {
      return { pod, exceeds: false, priority, used: use?.processes, requested: 0 };
    }
    const used = use && usedOf(signal, disks, pod, use);
    // The reference compares inodes with what is requested of the disk, where it orders those that exceed nothing.
    const requested = requestOf(pod, resource === 'memory' ? 'memory' : 'ephemeral-storage');
    const exceeds = used !== undefined && used > (resource === 'inodes' ? 0 : requested);
    return { pod, exceeds, priority, used, requested };
  });
  return inOrder(signal, ranked);
}

/** The order by these numbers alone: a ranking in a message can be computed again. */
export function inOrder<One extends Numbers>(signal: Signal, candidates: readonly One[]): readonly One[] {
  return candidates.toSorted(SIGNALS[signal].resource === 'pids' ? compareByPriority : compareByExcess);
}

/** A ranking as messages contain it. */
export function rankingOf(signal: Signal, ranked: readonly Ranked[]): EvictionRanking {
  const pods = ranked.slice(0, RANKED_MOST).map(({ pod, exceeds, priority, used, requested }) => ({
    ...{ ref: podRefOf(pod), critical: isCritical(pod), exceeds, priority, requested },
    ...(used !== undefined && { used }),
  }));
  return { signal, pods, leftOut: ranked.length - pods.length };
}

function compareByExcess(a: Numbers, b: Numbers): number {
  return (
    unknownFirst(a, b) ?? (Number(b.exceeds) - Number(a.exceeds) || a.priority - b.priority || above(b) - above(a))
  );
}

function compareByPriority(a: Numbers, b: Numbers): number {
  return a.priority - b.priority || (unknownFirst(a, b) ?? above(b) - above(a));
}

/** Undefined: something is known of both. */
function unknownFirst(a: Numbers, b: Numbers): number | undefined {
  if (a.used !== undefined && b.used !== undefined) return undefined;
  return Number(b.used === undefined) - Number(a.used === undefined);
}

const above = ({ used = 0, requested }: Numbers): number => used - requested;

function usedOf(signal: Signal, disks: Disks, pod: Pod, use: PodUse): number {
  const { resource } = SIGNALS[signal];
  if (resource === 'memory') return use.memory;
  const parts = partsOn(signal, disks);
  const all = [
    ...(parts.includes('layers') ? use.containers.map(({ rootfs }) => rootfs) : []),
    ...(parts.includes('logs') ? use.containers.map(({ logs }) => logs) : []),
    ...(parts.includes('volumes') ? localVolumes(pod, use) : []),
  ];
  return all.reduce((sum, part) => sum + ((resource === 'inodes' ? part?.inodesUsed : part?.usedBytes) ?? 0), 0);
}

/** What of a pod is on the file system of a signal. */
function partsOn(signal: Signal, disks: Disks): readonly Part[] {
  if (disks === 'one') return everything;
  const isOfImages = signal.startsWith('imagefs');
  if (disks === 'split') return isOfImages ? [] : everything;
  return signal.startsWith('nodefs') ? ['logs', 'volumes'] : ['layers'];
}

/** Volumes whose content is in the node's own files. */
function localVolumes({ spec }: Pod, { volumes }: PodUse): readonly DiskUse[] {
  const isLocal = (name: string) => {
    const volume = spec.volumes?.find((one) => one.name === name);
    const { emptyDir } = volume ?? {};
    const isOnDisk = emptyDir !== undefined && (emptyDir.medium ?? '') === '';
    return isOnDisk || volume?.hostPath !== undefined || volume?.configMap !== undefined;
  };
  return volumes.filter(({ name }) => isLocal(name));
}
