/** A device of a plugin, as the plugin last reported it. */
export interface KnownDevice {
  readonly id: string;
  readonly healthy: boolean;
  /** NUMA nodes close to it; empty: the device has no NUMA affinity. */
  readonly numaNodes: readonly number[];
}

/** A container's request for one resource, and the devices that exist. */
export interface DeviceQuestion {
  readonly resource: string;
  readonly count: number;
  /** Undefined: no plugin serves the resource now. */
  readonly devices: readonly KnownDevice[] | undefined;
  /** Ids allocated to containers of this pod and of others. */
  readonly inUse: ReadonlySet<string>;
  /** Ids of the pod's init containers that have ended when this container starts. */
  readonly reusable: readonly string[];
  /** NUMA nodes whose devices are preferred; undefined: no preference. */
  readonly affinity?: readonly number[] | undefined;
}

/** The request to the plugin for its preferred devices, if it requires a request before devices are chosen. */
export interface PreferenceQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

/** The candidates for an allocation. */
export interface DeviceChoice {
  readonly count: number;
  /** Devices that are allocated in any case. */
  readonly fixed: readonly string[];
  /** Devices from which the rest is chosen, the best first. */
  readonly pool: readonly string[];
  /** Undefined: there is no choice left. */
  readonly question: PreferenceQuestion | undefined;
}

/** Why a container cannot get its devices, in the reference kubelet's words. */
export interface NoDevices {
  readonly problem: string;
}

/**
 * The devices that a container may get (behaviour:resource-managers, Device plugin): healthy ones that no container has. Those of
 * the pod's init containers come first, then those close to the NUMA nodes chosen for the container; both are sorted this way.
 */
export function deviceChoice(asked: DeviceQuestion): DeviceChoice | NoDevices {
  const { resource, count, inUse, reusable, affinity } = asked;
  const healthy = healthyDevices(asked);
  if ('problem' in healthy) return healthy;
  const byId = new Map(healthy.map((device) => [device.id, device]));
  const again = byAffinity(
    reusable.flatMap((id) => byId.get(id) ?? []),
    affinity,
  );
  // Not all of them may be needed.
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

/**
 * Why a container that does not run cannot start with the devices that it was given before the agent started (behaviour:resource-managers,
 * Device plugin): the machine may have booted since, and its plugin be missing. Undefined: it can.
 */
export function keptDevicesProblem(
  asked: Pick<DeviceQuestion, 'resource' | 'devices'>,
  had: readonly string[],
): string | undefined {
  const healthy = healthyDevices(asked);
  if ('problem' in healthy) return healthy.problem;
  if (had.every((id) => healthy.some((device) => device.id === id))) return undefined;
  return `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${asked.resource}`;
}

function healthyDevices({
  resource,
  devices,
}: Pick<DeviceQuestion, 'resource' | 'devices'>): readonly KnownDevice[] | NoDevices {
  if (devices === undefined) return { problem: `cannot allocate unregistered device ${resource}` };
  const healthy = devices.filter((device) => device.healthy);
  if (healthy.length > 0) return healthy;
  return { problem: `no healthy devices present; cannot allocate unhealthy devices ${resource}` };
}

/** The devices that a container gets: those that its plugin prefers, as far as they are available, and others for the rest. */
export function chosenDevices({ count, fixed, pool }: DeviceChoice, preferred: readonly string[]): readonly string[] {
  const wanted = pool.filter((id) => preferred.includes(id));
  return [...new Set([...fixed, ...wanted, ...pool])].slice(0, count);
}

/** Ids close to the nodes, and all others: first those close to other nodes, then those without affinity. */
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
