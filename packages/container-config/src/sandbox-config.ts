import type { Pod } from '@kubus/contracts';
import { LABEL } from '@kubus/pod-lifecycle';
import type { PodSandboxConfig } from '@kubus/proto/cri';
import { containerResources } from './resources.ts';
import { namespaceOptions } from './security.ts';

export interface SandboxSettings {
  readonly attempt: number;
  /** Absolute folder of the pod's logs. */
  readonly logDirectory: string;
  /** The pod's cgroup, as the runtime's driver writes it. */
  readonly cgroupParent: string;
}

/** A host name has at most 63 characters (kubelet behaviour 1.15). */
const MAX_HOSTNAME = 63;

/** The sandbox of a pod (kubelet behaviour 2.2). */
export function sandboxConfig(pod: Pod, settings: SandboxSettings): PodSandboxConfig {
  const { metadata, spec } = pod;
  const hostNetwork = spec.hostNetwork === true;
  return {
    metadata: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid, attempt: settings.attempt },
    ...(!hostNetwork && { hostname: hostname(pod) }),
    logDirectory: settings.logDirectory,
    dnsConfig: {},
    portMappings: spec.containers.flatMap((container) =>
      (container.ports ?? []).map((port) => ({
        protocol: protocol(port.protocol),
        containerPort: port.containerPort,
        hostPort: port.hostPort ?? 0,
        hostIp: port.hostIP ?? '',
      })),
    ),
    labels: { ...metadata.labels, ...podLabels(pod) },
    annotations: { ...metadata.annotations },
    linux: {
      cgroupParent: settings.cgroupParent,
      securityContext: {
        namespaceOptions: namespaceOptions(pod),
        privileged: spec.containers.some((container) => container.securityContext?.privileged === true),
        seccomp: { profileType: 'RuntimeDefault' },
      },
      resources: { cpuPeriod: containerResources(pod, {}, 0n).cpuPeriod, cpuShares: '2' },
    },
  };
}

/** The labels by which everything that belongs to a pod is found in the runtime (kubelet behaviour 1.7). */
export function podLabels(pod: Pick<Pod, 'metadata'>): Record<string, string> {
  return {
    [LABEL.podName]: pod.metadata.name,
    [LABEL.podNamespace]: pod.metadata.namespace,
    [LABEL.podUid]: pod.metadata.uid,
  };
}

function hostname(pod: Pod): string {
  return (pod.spec.hostname ?? pod.metadata.name).slice(0, MAX_HOSTNAME).replace(/[-.]+$/, '');
}

function protocol(text: string | undefined): 'TCP' | 'UDP' | 'SCTP' {
  return text === 'UDP' || text === 'SCTP' ? text : 'TCP';
}
