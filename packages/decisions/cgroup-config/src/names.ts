/** The cgroup driver: what creates the node's cgroups, and thereby determines their names. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** The cgroups that contain those of the pods. Guaranteed pods are directly below `pods`. */
export type CgroupTier = 'pods' | 'burstable' | 'besteffort';

const TIERS: Readonly<Record<CgroupTier, readonly string[]>> = {
  pods: ['kubepods'],
  burstable: ['kubepods', 'burstable'],
  besteffort: ['kubepods', 'besteffort'],
};

/** The tier of a pod by its QoS class (behaviour:qos-and-cgroups). */
export function tierOf(qos: string): CgroupTier {
  if (qos === 'Guaranteed') return 'pods';
  return qos === 'Burstable' ? 'burstable' : 'besteffort';
}

/** What determines the names of the node's cgroups: the cgroup below which its pods are (`/` for the machine's root), and the driver. */
export interface CgroupNaming {
  readonly root: string;
  readonly driver: CgroupDriver;
}

/** Path of a tier's cgroup below the mount of a hierarchy. */
export function tierPath(naming: CgroupNaming, tier: CgroupTier): string {
  return path(naming, TIERS[tier]);
}

/** Path of a pod's cgroup below the mount of a hierarchy, which the runtime also takes as the parent. */
export function podPath(naming: CgroupNaming, uid: string, qos: string): string {
  return path(naming, [...TIERS[tierOf(qos)], `pod${uid}`]);
}

/**
 * Path of a cgroup that the configuration names, such as `/system.slice` (kubeReservedCgroup, systemReservedCgroup). With systemd the last
 * part of the name is the whole path.
 */
export function namedPath(name: string, driver: CgroupDriver): string {
  if (driver === 'cgroupfs') return path({ root: name, driver }, []);
  const slice = name.slice(name.lastIndexOf('/') + 1).replace(/\.slice$/, '');
  return path({ root: slice.replaceAll('-', '/'), driver }, []);
}

/** The UID of the pod whose cgroup has this name (the last part of its path); undefined when it is not a pod's cgroup. */
export function podOfCgroup(name: string, driver: CgroupDriver): string | undefined {
  if (driver === 'cgroupfs') return /^pod(.+)$/.exec(name)?.[1];
  // The dashes of the UID were written as underscores, which no UID contains.
  return /-pod([^-]+)\.slice$/.exec(name)?.[1]?.replaceAll('_', '-');
}

/**
 * The name of a systemd slice contains its whole path, with `-` between the parts: `a-b.slice` is inside `a.slice`
 * (systemd.slice(5)). A dash within a part is written as an underscore.
 */
function path({ root, driver }: CgroupNaming, below: readonly string[]): string {
  const parts = [...root.split('/').filter((part) => part !== ''), ...below];
  if (driver === 'cgroupfs') return `/${parts.join('/')}`;
  const names = parts.map((part) => part.replaceAll('-', '_'));
  return names.map((_, index) => `/${names.slice(0, index + 1).join('-')}.slice`).join('');
}

/**
 * Finds the cgroup of a container or a sandbox among a pod's cgroups, by the runtime's id. containerd names it by the id with
 * cgroupfs, and by `cri-containerd-<id>.scope` with systemd; CRI-O adds its own prefix to both.
 *
 * @param names of the cgroups directly below the pod's
 */
export function cgroupOfContainer(names: readonly string[], id: string): string | undefined {
  const known = new Set([id, `cri-containerd-${id}.scope`, `crio-${id}.scope`, `crio-${id}`]);
  return names.find((name) => known.has(name));
}
