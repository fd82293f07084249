import type { Container, Pod } from '@kubus/contracts';
import type { LinuxContainerSecurityContext, NamespaceOption } from '@kubus/proto/cri';

/** Paths that a container does not see, or can not write, unless it asks for an unmasked /proc (kubelet behaviour 2.4). */
const MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** Which namespaces a pod's containers share with the host and with each other. */
export function namespaceOptions(pod: Pick<Pod, 'spec'>): NamespaceOption {
  const { spec } = pod;
  return {
    network: spec.hostNetwork === true ? 'NODE' : 'POD',
    ipc: spec.hostIPC === true ? 'NODE' : 'POD',
    pid: spec.hostPID === true ? 'NODE' : spec.shareProcessNamespace === true ? 'POD' : 'CONTAINER',
  };
}

export function containerSecurity(pod: Pick<Pod, 'spec'>, container: Container): LinuxContainerSecurityContext {
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const user = own?.runAsUser ?? shared?.runAsUser;
  const group = own?.runAsGroup ?? shared?.runAsGroup;
  const unmasked = own?.procMount === 'Unmasked';
  return {
    ...(own?.capabilities !== undefined && {
      capabilities: {
        addCapabilities: own.capabilities.add ?? [],
        dropCapabilities: own.capabilities.drop ?? [],
      },
    }),
    privileged: own?.privileged === true,
    namespaceOptions: namespaceOptions(pod),
    ...(user !== undefined && { runAsUser: { value: String(user) } }),
    ...(group !== undefined && { runAsGroup: { value: String(group) } }),
    readonlyRootfs: own?.readOnlyRootFilesystem === true,
    supplementalGroups: (shared?.supplementalGroups ?? []).map(String),
    noNewPrivs: own?.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : MASKED_PATHS,
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    seccomp: { profileType: 'Unconfined' },
  };
}
