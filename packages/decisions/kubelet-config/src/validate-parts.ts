import { parseQuantity } from '@kubus/contracts';
import { formatGoDuration } from '@kubus/pod';
import { toError } from '@kubus/ports';
import type { KubeletConfiguration } from './field-table.ts';
import type { GateSettings } from './gates.ts';
import type { Problems } from './problems.ts';
import { qosReservedProblems } from './pod-memory.ts';
import { topologyOptions } from './topology-options.ts';

/** Graceful node shutdown (KEP-2000, KEP-2712). */
export function shutdown(config: KubeletConfiguration, gates: GateSettings, problems: Problems): void {
  const { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } = config;
  const [allText, criticalText] = [all, critical].map(formatGoDuration);
  const byPriority = config.shutdownGracePeriodByPodPriority.length > 0;
  if (gates.enabled('GracefulNodeShutdown')) {
    problems.check(
      critical <= all,
      () => `shutdownGracePeriodCriticalPods ${criticalText} must be <= shutdownGracePeriod ${allText}`,
    );
    for (const [name, value, text] of [
      ['shutdownGracePeriod', all, allText],
      ['shutdownGracePeriodCriticalPods', critical, criticalText],
    ] as const) {
      problems.check(value === 0 || value >= 1000, () => `${name} ${text} must be either zero or otherwise >= 1 sec`);
    }
  } else {
    problems.check(
      all <= 0 && critical <= 0,
      () =>
        'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    );
  }
  if (gates.enabled('GracefulNodeShutdownBasedOnPodPriority')) {
    problems.check(
      !byPriority || (all <= 0 && critical <= 0),
      () => 'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    );
  } else {
    problems.check(
      !byPriority,
      () => 'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    );
  }
}

export function memory(config: KubeletConfiguration, gates: GateSettings, problems: Problems): void {
  const { swapBehavior } = config.memorySwap;
  problems.check(
    ['', 'NoSwap', 'LimitedSwap'].includes(swapBehavior),
    () => `memorySwap.swapBehavior "${swapBehavior}" must be one of: "", "LimitedSwap" or "NoSwap"`,
  );
  const longest = config.crashLoopBackOff.maxContainerRestartPeriod;
  problems.check(
    longest >= 1000 && longest <= 300_000,
    () => `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${longest / 1000} seconds) must be set between 1s and 300s`,
  );
  const factor = config.memoryThrottlingFactor;
  problems.check(
    factor > 0 && factor <= 1,
    () => `memoryThrottlingFactor ${factor} must be greater than 0 and less than or equal to 1.0`,
  );
  const policy = config.memoryReservationPolicy;
  problems.check(
    policy !== 'TieredReservation' || gates.enabled('MemoryQoS'),
    () => `memoryReservationPolicy "${policy}" requires MemoryQoS feature gate to be enabled`,
  );
  problems.check(
    ['None', 'TieredReservation'].includes(policy),
    () => `option "${policy}" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
  );
  for (const problem of qosReservedProblems(config.qosReserved)) problems.check(false, () => problem);
}

/** Enforcement of the node's allocatable resources (behaviour:qos-and-cgroups). */
export function enforcement(config: KubeletConfiguration, problems: Problems): void {
  const asked = config.enforceNodeAllocatable;
  const option = 'enforceNodeAllocatable (--enforce-node-allocatable)';
  for (const who of ['system-reserved', 'kube-reserved']) {
    problems.check(
      !asked.includes(who) || !asked.includes(`${who}-compressible`),
      () => `both "${who}" and "${who}-compressible" cannot be specified together in ${option}`,
    );
  }
  for (const [index, value] of asked.entries()) {
    if (asked.indexOf(value) < index) {
      problems.check(false, () => `duplicated enforcements "${value}" in ${option}`);
    } else if (value === 'none') {
      problems.check(
        asked.length === 1,
        () => `${option} may not contain additional enforcements when "none" is specified`,
      );
    } else {
      oneEnforcement(value, config, problems);
    }
  }
}

function oneEnforcement(value: string, config: KubeletConfiguration, problems: Problems): void {
  const option = 'enforceNodeAllocatable (--enforce-node-allocatable)';
  const reserved = /^(system|kube)-reserved(-compressible)?$/.exec(value)?.[1];
  if (reserved === undefined && value !== 'pods') {
    problems.check(
      false,
      () =>
        `option "${value}" specified for ${option}. Valid options are "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"`,
    );
    return;
  }
  if (reserved !== undefined) {
    const cgroup = reserved === 'system' ? config.systemReservedCgroup : config.kubeReservedCgroup;
    problems.check(
      cgroup !== '',
      () =>
        `${reserved}ReservedCgroup (--${reserved}-reserved-cgroup) must be specified when "${reserved}-reserved" or "${reserved}-reserved-compressible" included in ${option}`,
    );
  }
  problems.check(
    config.cgroupsPerQOS,
    () => `cgroupsPerQOS (--cgroups-per-qos) must be set to true when "${value}" contained in ${option}`,
  );
}

export function policies(config: KubeletConfiguration, gates: GateSettings, problems: Problems): void {
  const policy = config.topologyManagerPolicy;
  problems.check(
    ['none', 'best-effort', 'restricted', 'single-numa-node'].includes(policy),
    () =>
      `topologyManagerPolicy (--topology-manager-policy) "${policy}" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]`,
  );
  const scope = config.topologyManagerScope;
  problems.check(
    ['container', 'pod'].includes(scope),
    () => `topologyManagerScope (--topology-manager-scope) "${scope}" must be one of: "container", or "pod"`,
  );
  // The reference checks these only when a policy is set.
  if (policy !== 'none') {
    try {
      topologyOptions(config.topologyManagerPolicyOptions);
    } catch (error) {
      problems.check(false, () => toError(error).message);
    }
  }
  for (const [name, given, known] of [
    ['cpuManagerPolicy (--cpu-manager-policy)', config.cpuManagerPolicy, ['none', 'static']],
    ['memoryManagerPolicy (--memory-manager-policy)', config.memoryManagerPolicy, ['None', 'Static']],
  ] as const) {
    problems.check((known as readonly string[]).includes(given), () => `${name}: unknown policy: "${given}"`);
  }
  const { hairpinMode } = config;
  problems.check(
    ['none', 'hairpin-veth', 'promiscuous-bridge'].includes(hairpinMode),
    () =>
      `option "${hairpinMode}" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
  );
  problems.check(
    !config.serverTLSBootstrap || gates.enabled('RotateKubeletServerCertificate'),
    () => 'serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate',
  );
  problems.check(
    config.reservedSystemCPUs === '' || (config.systemReservedCgroup === '' && config.kubeReservedCgroup === ''),
    () =>
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
  );
  const { mode } = config.authorization;
  problems.check(
    ['AlwaysAllow', 'Webhook'].includes(mode),
    () => `authorization.mode (--authorization-mode) "${mode}" must be one of: "AlwaysAllow" or "Webhook"`,
  );
  const { cgroupDriver } = config;
  problems.check(
    ['cgroupfs', 'systemd'].includes(cgroupDriver),
    () => `cgroupDriver (--cgroup-driver) "${cgroupDriver}" must be one of: "cgroupfs" or "systemd"`,
  );
  for (const { key, effect } of config.registerWithTaints) {
    problems.check(
      key !== undefined && ['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect ?? ''),
      () => `invalid taint: ${key ?? ''}:${effect ?? ''}`,
    );
  }
  for (const [name, amounts] of Object.entries({
    systemReserved: config.systemReserved,
    kubeReserved: config.kubeReserved,
  })) {
    for (const [resource, amount] of Object.entries(amounts)) {
      const parsed = parseQuantity(amount);
      problems.check(
        ['cpu', 'memory', 'ephemeral-storage', 'pid'].includes(resource),
        () => `cannot reserve "${resource}" resource in ${name}`,
      );
      problems.check(
        parsed !== undefined && parsed.nano >= 0n,
        () => `failed to parse quantity "${amount}" for "${resource}" resource in ${name}`,
      );
    }
  }
}

export function reservedMemory(config: KubeletConfiguration, problems: Problems): void {
  const seen = new Set<string>();
  for (const { numaNode = 0, limits = {} } of config.reservedMemory) {
    for (const [resource, amount] of Object.entries(limits)) {
      problems.check(
        resource === 'memory' || resource.startsWith('hugepages-'),
        () =>
          `the limit type "${resource}" for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
      );
      problems.check(
        (parseQuantity(amount)?.nano ?? 0n) !== 0n,
        () => `reserved memory may not be zero for NUMA node ${numaNode} and resource "${resource}"`,
      );
      const key = `${numaNode} ${resource}`;
      problems.check(
        !seen.has(key),
        () => `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource "${resource}"`,
      );
      seen.add(key);
    }
  }
}
