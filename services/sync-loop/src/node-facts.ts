import { type AdmissionNode, safeSysctls, sysctlNamespace } from '@kubus/admission';
import { ConfigError, type NodeConfig, nodeResources } from '@kubus/service-kit';
import { readFileSync } from 'node:fs';
import { arch, release } from 'node:os';

/** How Go, and so Kubernetes, names what Node calls otherwise. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** What is known of the node from its configuration and its machine. Throws ConfigError. */
export function nodeFacts(config: NodeConfig): AdmissionNode {
  const { node, labels, pods, taints } = config;
  const own = pods.unsafeSysctls.find((pattern) => sysctlNamespace(pattern) === undefined);
  if (own !== undefined) {
    throw new ConfigError('bad-config', `pods.unsafeSysctls: the sysctls "${own}" are not known to be namespaced`);
  }
  return {
    name: node,
    labels: {
      'kubernetes.io/hostname': node,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': ARCHITECTURES[arch()] ?? arch(),
      ...labels,
    },
    taints,
    allocatable: nodeResources(config),
    sysctls: [...safeSysctls(release()), ...pods.unsafeSysctls],
    appArmor: hasAppArmor(),
    // Until the runtime says otherwise.
    strictSupplementalGroups: false,
  };
}

function hasAppArmor(): boolean {
  try {
    return readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8').trim() === 'Y';
  } catch {
    return false;
  }
}
