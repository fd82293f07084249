import { parseQuantity, quantityUnits } from '@kubus/contracts';
import { parseCpuSet } from '@kubus/exclusive';
import { type KubeletConfiguration, topologyOptions } from '@kubus/kubelet-config';
import { LauncherError } from '../errors.ts';

/** Devices, CPUs and memory are aligned like this. */
export function devices(config: KubeletConfiguration): object {
  const { topologyManagerPolicy: topologyPolicy, topologyManagerScope: topologyScope } = config;
  // With `none` the options have no effect, and have not been validated.
  if (topologyPolicy === 'none') return { topologyPolicy, topologyScope };
  const { preferClosest: preferClosestNodes, mostNodes } = topologyOptions(config.topologyManagerPolicyOptions);
  return { topologyPolicy, topologyScope, preferClosestNodes, mostNodes };
}

/** The CPUs and the memory that containers have for themselves. */
export function exclusive(config: KubeletConfiguration): object {
  const { cpuManagerPolicy, memoryManagerPolicy, featureGates: gates } = config;
  return {
    cpuPolicy: cpuManagerPolicy,
    cpuOptions: config.cpuManagerPolicyOptions,
    gates: {
      alpha: gates['CPUManagerPolicyAlphaOptions'] === true,
      beta: gates['CPUManagerPolicyBetaOptions'] !== false,
    },
    withoutQuota: gates['DisableCPUQuotaWithExclusiveCPUs'] !== false,
    podLevel: gates['PodLevelResourceManagers'] === true && gates['PodLevelResources'] !== false,
    ...(config.cpuManagerReconcilePeriod > 0 && { reconcileMs: config.cpuManagerReconcilePeriod }),
    reservedCpus: config.reservedSystemCPUs,
    memoryPolicy: memoryManagerPolicy,
    reservedMemory: config.reservedMemory.map(({ numaNode = 0, limits = {} }) => ({
      numaNode,
      limits: Object.fromEntries(Object.entries(limits).map(([name, text]) => [name, units(text)])),
    })),
  };
}

/**
 * What is reserved for the system and for the node's programs. The CPUs of reservedSystemCPUs count instead of what is reserved otherwise, as
 * in the reference.
 *
 * @throws LauncherError `BadReservedCpus`
 */
export function reservedWithCpus({
  reservedSystemCPUs: text,
  systemReserved: system,
  kubeReserved: kube,
}: Pick<KubeletConfiguration, 'kubeReserved' | 'reservedSystemCPUs' | 'systemReserved'>): {
  readonly system: Readonly<Record<string, string>>;
  readonly kube: Readonly<Record<string, string>>;
} {
  const cpus = parseCpuSet(text);
  if (cpus === undefined) {
    const message = `unable to parse reserved cpuset: reservedSystemCPUs (--reserved-cpus) "${text}" is not a list such as 0-3,8`;
    throw new LauncherError('BadReservedCpus', message);
  }
  if (cpus.length === 0) return { system, kube };
  const { cpu: _, ...rest } = kube;
  return { system: { ...system, cpu: String(cpus.length) }, kube: rest };
}

function units(text: string): number {
  const quantity = parseQuantity(text);
  return quantity === undefined ? 0 : Number(quantityUnits(quantity));
}
