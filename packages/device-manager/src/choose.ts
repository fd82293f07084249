/** A device of a plugin, as the plugin told of it last. */
export interface KnownDevice {
  readonly id: string;
  readonly healthy: boolean;
  /** NUMA nodes that it is near to; none: it does not matter. */
  readonly numaNodes: readonly number[];
}

/** What a container asks of one resource, and what there is of it. */
export interface DeviceQuestion {
  readonly resource: string;
  readonly count: number;
  /** Undefined: no plugin serves the resource now. */
  readonly devices: readonly KnownDevice[] | undefined;
  /** Ids that containers have, of this pod and of others. */
  readonly inUse: ReadonlySet<string>;
  /** Ids that init containers of the pod have had, which have ended when this container starts. */
  readonly reusable: readonly string[];
  /** NUMA nodes from which devices come first; undefined: from anywhere. */
  readonly affinity?: readonly number[] | undefined;
}

/** What the plugin is asked before devices are chosen, where it wants to be. */
export interface PreferenceQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

/** Devices among which is chosen. */
export interface DeviceChoice {
  readonly count: number;
  /** Those that are taken in any case. */
  readonly fixed: readonly string[];
  /** Those from which the others come, the best first. */
  readonly pool: readonly string[];
  /** Undefined: there is nothing left to prefer. */
  readonly question: PreferenceQuestion | undefined;
}

/** Why a container does not get its devices, in the reference kubelet's words. */
export interface NoDevices {
  readonly problem: string;
}

/**
 * The devices that a container may get (kubelet behaviour 1.21, Device plugin): healthy ones that nobody has, those of the
 * pod's init containers first, then those near to the NUMA nodes that were chosen for it, by which the former are ordered, too.
 */
export function deviceChoice(asked: DeviceQuestion): DeviceChoice | NoDevices {
  const { resource, count, devices, inUse, reusable, affinity } = asked;
  if (devices === undefined) return { problem: `cannot allocate unregistered device ${resource}` };
  const healthy = devices.filter((device) => device.healthy);
  if (healthy.length === 0) {
    return { problem: `no healthy devices present; cannot allocate unhealthy devices ${resource}` };
  }
  const byId = new Map(healthy.map((device) => [device.id, device]));
  const again = byAffinity(
    reusable.flatMap((id) => byId.get(id) ?? []),
    affinity,
  );
  // Fewer than there are may suffice.
  const reused = [...again.aligned, ...again.others].slice(0, count);
  const needed = count - reused.length;
  if (needed === 0) return { count, fixed: reused, pool: [], question: undefined };
  const available = healthy.filter(({ id }) => !inUse.has(id) && !reused.includes(id));
  if (available.length < needed) {
    const amounts = `Requested: ${needed}, Available: ${available.length}`;
    return { problem: `requested number of devices unavailable for ${resource}. ${amounts}` };
  }
  const { aligned, others } = byAffinity(available, affinity);
  const isEnough = needed < aligned.length;
  const fixed = isEnough ? reused : [...reused, ...aligned];
  const pool = isEnough ? aligned : others;
  const question = { available: [...fixed, ...pool], mustInclude: fixed, size: count };
  return { count, fixed, pool, question: fixed.length < count ? question : undefined };
}

/** The devices that a container gets: those that its plugin prefers, as far as they may be had, and others for the rest. */
export function chosenDevices({ count, fixed, pool }: DeviceChoice, preferred: readonly string[]): readonly string[] {
  const wanted = pool.filter((id) => preferred.includes(id));
  return [...new Set([...fixed, ...wanted, ...pool])].slice(0, count);
}

/** Ids near to the nodes, and all others: first those that are near to other nodes, then those that are near to none. */
function byAffinity(
  devices: readonly KnownDevice[],
  affinity: readonly number[] | undefined,
): { readonly aligned: readonly string[]; readonly others: readonly string[] } {
  const idsOf = (some: readonly KnownDevice[]) => some.map(({ id }) => id);
  if (affinity === undefined || devices.every(({ numaNodes }) => numaNodes.length === 0)) {
    return { aligned: [], others: idsOf(devices) };
  }
  const isAligned = ({ numaNodes }: KnownDevice) => numaNodes.some((node) => affinity.includes(node));
  const unaligned = devices.filter((device) => !isAligned(device));
  const anywhere = unaligned.filter(({ numaNodes }) => numaNodes.length === 0);
  const elsewhere = unaligned.filter(({ numaNodes }) => numaNodes.length > 0);
  return { aligned: idsOf(devices.filter(isAligned)), others: [...idsOf(elsewhere), ...idsOf(anywhere)] };
}
