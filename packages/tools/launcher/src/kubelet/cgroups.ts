import { type CgroupMounts, handDownFromTop, missingCgroup } from '@kubus/cgroup';
import type { KubeletConfiguration } from '@kubus/kubelet-config';
import { LauncherError } from '../errors.ts';
import type { RuntimeFacts } from './runtime.ts';

type Driver = NonNullable<RuntimeFacts['cgroupDriver']>;

/**
 * The cgroup driver: the runtime's; where the runtime does not report it, the configured one (behaviour:qos-and-cgroups).
 *
 * @param isGiven whether the configuration names a driver
 * @throws LauncherError `CgroupDriver` when it names another one than the runtime
 */
export function driverOf(
  { cgroupDriver: configured }: Pick<KubeletConfiguration, 'cgroupDriver'>,
  { name, version, cgroupDriver: ofRuntime }: Pick<RuntimeFacts, 'name' | 'version' | 'cgroupDriver'>,
  isGiven: boolean,
): Driver {
  if (ofRuntime === undefined) return configured === 'systemd' ? 'systemd' : 'cgroupfs';
  if (isGiven && configured !== ofRuntime) {
    throw new LauncherError(
      'CgroupDriver',
      `cgroupDriver (--cgroup-driver) is "${configured}", but the container runtime ${name} ${version} uses "${ofRuntime}": configure the same driver in both, or leave cgroupDriver out`,
    );
  }
  return ofRuntime;
}

/**
 * Checks that the cgroups exist that the configuration names, and have all controllers. Those that the topmost cgroup can hand down they get
 * before: the reference checks after it has made the cgroup of all pods, by which they get them.
 *
 * @throws LauncherError `NoCgroup` in the reference's words; CgroupError.
 */
export async function checkCgroups(
  config: Pick<KubeletConfiguration, 'enforceNodeAllocatable' | 'systemReservedCgroup' | 'kubeReservedCgroup'>,
  driver: Driver,
  mounts: CgroupMounts,
): Promise<void> {
  const named = [
    ['system-reserved', 'System Reserved', config.systemReservedCgroup],
    ['kube-reserved', 'Kube Reserved', config.kubeReservedCgroup],
    ['system-reserved-compressible', 'System Reserved Compressible', config.systemReservedCgroup],
    ['kube-reserved-compressible', 'Kube Reserved Compressible', config.kubeReservedCgroup],
  ] as const;
  const enforced = named.filter(([enforcement]) => config.enforceNodeAllocatable.includes(enforcement));
  if (enforced.length > 0) await handDownFromTop(mounts);
  for (const [, title, cgroup] of enforced) {
    const problem = await missingCgroup(cgroup, driver, mounts);
    if (problem === undefined) continue;
    const message = `Failed to start ContainerManager: Failed to enforce ${title} Cgroup Limits on "${cgroup}": ${problem}`;
    throw new LauncherError('NoCgroup', message, { context: { cgroup } });
  }
}
