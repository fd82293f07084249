/** Who makes the node's cgroups, and so how they are named. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** The cgroups above the pods' own ones. Guaranteed pods are directly below `pods`. */
export type CgroupTier = 'pods' | 'burstable' | 'besteffort';

const TIERS: Readonly<Record<CgroupTier, readonly string[]>> = {
  pods: ['kubepods'],
  burstable: ['kubepods', 'burstable'],
  besteffort: ['kubepods', 'besteffort'],
};

/** The tier of a pod by its class (kubelet behaviour 1.20). */
export function tierOf(qos: string): CgroupTier {
  if (qos === 'Guaranteed') return 'pods';
  return qos === 'Burstable' ? 'burstable' : 'besteffort';
}

/** What names a cgroup of the node: the cgroup below which its pods live (`/` for the machine's own), and the driver. */
export interface CgroupNaming {
  readonly root: string;
  readonly driver: CgroupDriver;
}

/** Path of a tier's cgroup below the mount of a hierarchy. */
export function tierPath(naming: CgroupNaming, tier: CgroupTier): string {
  return path(naming, TIERS[tier]);
}

/** Path of a pod's cgroup below the mount of a hierarchy, which is also what the runtime takes as its parent. */
export function podPath(naming: CgroupNaming, uid: string, qos: string): string {
  return path(naming, [...TIERS[tierOf(qos)], `pod${uid}`]);
}

/** The UID of the pod whose cgroup has this name (the last part of its path); undefined when it is no pod's. */
export function podOfCgroup(name: string, driver: CgroupDriver): string | undefined {
  if (driver === 'cgroupfs') return /^pod(.+)$/.exec(name)?.[1];
  // The UID's own dashes were written as underscores, which no UID has.
  return /-pod([^-]+)\.slice$/.exec(name)?.[1]?.replaceAll('_', '-');
}

/**
 * systemd's slices carry their whole path in their name, with `-` between the parts: `a-b.slice` is inside of `a.slice`
 * (systemd.slice(5)). A dash within a part is written as an underscore.
 */
function path({ root, driver }: CgroupNaming, below: readonly string[]): string {
  const parts = [...root.split('/').filter((part) => part !== ''), ...below];
  if (driver === 'cgroupfs') return `/${parts.join('/')}`;
  const names = parts.map((part) => part.replaceAll('-', '_'));
  return names.map((_, index) => `/${names.slice(0, index + 1).join('-')}.slice`).join('');
}

/**
 * Which of a pod's cgroups is that of a container or a sandbox, by the runtime's id. containerd names it so with cgroupfs, and
 * `cri-containerd-<id>.scope` with systemd; CRI-O has its own beginning for both.
 *
 * @param names of the cgroups directly below the pod's
 */
export function cgroupOfContainer(names: readonly string[], id: string): string | undefined {
  const known = new Set([id, `cri-containerd-${id}.scope`, `crio-${id}.scope`, `crio-${id}`]);
  return names.find((name) => known.has(name));
}
