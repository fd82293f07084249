import type { Container, Pod } from '@kubus/contracts';
import { LABEL } from '@kubus/pod-lifecycle';
import type { DNSConfig, PodSandboxConfig, PortMapping } from '@kubus/proto/cri';
import { kernelHostname } from './hostname.ts';
import { type ResourceSettings, sandboxOverhead, sandboxResources } from './resources.ts';
import { type PodSecuritySettings, sandboxSecurity } from './security.ts';

export interface SandboxSettings extends ResourceSettings, PodSecuritySettings {
  readonly attempt: number;
  /** Absolute folder of the pod's logs. */
  readonly logDirectory: string;
  /** The pod's cgroup, in the form of the runtime's cgroup driver. */
  readonly cgroupParent: string;
  /** See dnsConfig. Undefined: the runtime gives the pod the host's DNS settings. */
  readonly dns?: DNSConfig;
  /** Default: `cluster.local`. */
  readonly clusterDomain?: string;
}

/**
 * The sandbox of a pod (behaviour:sandbox-config). Its runtime handler is not part of it.
 *
 * Throws SandboxConfigError when the pod's host name is too long or its user namespace is missing.
 */
export function sandboxConfig(pod: Pod, settings: SandboxSettings): PodSandboxConfig {
  const { metadata, spec } = pod;
  const { attempt, cgroupParent, clusterDomain = 'cluster.local', dns = {}, logDirectory } = settings;
  return {
    metadata: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid, attempt },
    ...(spec.hostNetwork !== true && { hostname: kernelHostname(pod, clusterDomain) }),
    logDirectory,
    dnsConfig: dns,
    portMappings: spec.containers.flatMap(portMappings),
    labels: { ...metadata.labels, ...podLabels(pod) },
    annotations: { ...metadata.annotations },
    linux: {
      cgroupParent,
      securityContext: sandboxSecurity(pod, settings),
      sysctls: sysctls(pod),
      overhead: sandboxOverhead(pod, settings),
      resources: sandboxResources(pod, settings),
    },
  };
}

/** The labels by which everything that belongs to a pod is found in the runtime (behaviour:labels-paths-logs). */
export function podLabels(pod: Pick<Pod, 'metadata'>): Record<string, string> {
  return {
    [LABEL.podName]: pod.metadata.name,
    [LABEL.podNamespace]: pod.metadata.namespace,
    [LABEL.podUid]: pod.metadata.uid,
  };
}

/** All ports of a container, with or without a host port; of equal ones only the first. */
function portMappings({ ports = [] }: Container): PortMapping[] {
  const mappings = new Map<string, PortMapping>();
  for (const port of ports) {
    const { containerPort, hostIP = '', hostPort = 0, name = '' } = port;
    const protocol = port.protocol === 'UDP' || port.protocol === 'SCTP' ? port.protocol : 'TCP';
    const key = name === '' ? `${protocol} ${hostIP} ${containerPort} ${hostPort}` : name;
    if (!mappings.has(key)) mappings.set(key, { protocol, containerPort, hostPort, hostIp: hostIP });
  }
  return [...mappings.values()];
}

function sysctls({ spec }: Pick<Pod, 'spec'>): Record<string, string> {
  const entries = (spec.securityContext?.sysctls ?? []).map(({ name, value }) => [sysctlName(name), value] as const);
  return Object.fromEntries(entries);
}

/** With dots between its parts. In a name written with slashes, a part may contain dots, which are then written as slashes: `eno2.100`. */
export function sysctlName(name: string): string {
  const [separator] = /[./]/.exec(name) ?? [];
  return separator === '/' ? name.replace(/[./]/g, (char) => (char === '/' ? '.' : '/')) : name;
}
