import { type AdmissionNode, safeSysctls, sysctlNamespace } from '@kubus/admission';
import { defaultLabels } from '@kubus/node-status';
import { ConfigError, type NodeConfig, architecture, nodeResources, podLevelOf } from '@kubus/service-kit';
import { readFileSync } from 'node:fs';
import { release } from 'node:os';

/** The node's properties from its configuration and its machine. Throws ConfigError. */
export function nodeFacts(config: NodeConfig): AdmissionNode {
  const { exclusive, node, nodeObject, labels, pods, taints } = config;
  const own = pods.unsafeSysctls.find((pattern) => sysctlNamespace(pattern) === undefined);
  if (own !== undefined) {
    throw new ConfigError('bad-config', `pods.unsafeSysctls: the sysctls "${own}" are not known to be namespaced`);
  }
  return {
    name: node,
    labels: { ...defaultLabels({ hostname: nodeObject.hostname ?? node, architecture: architecture() }), ...labels },
    taints,
    allocatable: nodeResources(config),
    sysctls: [...safeSysctls(release()), ...pods.unsafeSysctls],
    appArmor: hasAppArmor(),
    // Until the runtime reports otherwise.
    strictSupplementalGroups: false,
    exclusive: {
      cpus: exclusive.cpuPolicy === 'static',
      memory: exclusive.memoryPolicy === 'Static',
      podLevel: podLevelOf(config),
    },
    limitedSwap: pods.swapBehavior === 'LimitedSwap',
  };
}

function hasAppArmor(): boolean {
  try {
    return readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8').trim() === 'Y';
  } catch {
    return false;
  }
}
