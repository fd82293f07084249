import type { Container, IdRange, Pod } from '@kubus/contracts';
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SupplementalGroupsPolicy,
} from '@kubus/proto/cri';
import { namespaceOptions } from './namespaces.ts';
import { type SeccompSettings, appArmorProfile, seccompProfile } from './profiles.ts';
import { type ImageUser, checkRunAsNonRoot } from './run-as.ts';

export interface PodSecuritySettings {
  /** Supplemental groups that the pod's persistent volumes require. */
  readonly volumeGroups?: readonly number[];
  /** The ids of the pod's user namespace; needed when it does not use the host's users. */
  readonly userNamespace?: IdRange;
}

export interface SecuritySettings extends PodSecuritySettings, SeccompSettings {
  /** The user that the image specifies. */
  readonly imageUser?: ImageUser;
  /** Additional paths that this node masks, such as `/sys/devices/system/cpu/cpu0/thermal_throttle`. */
  readonly nodeMaskedPaths?: readonly string[];
  /** For an ephemeral container: the id of the container whose processes it sees. */
  readonly targetContainerId?: string;
}

/** Paths that a container cannot see, or cannot write, unless it requests an unmasked /proc (behaviour:security-context). */
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

/**
 * The security context of a container: its own settings take precedence over its pod's, and those over its image's
 * (behaviour:security-context).
 *
 * Throws ContainerConfigError when it would run as root although runAsNonRoot is set, or when a profile is incomplete.
 */
export function containerSecurity(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Container,
  settings: SecuritySettings,
): LinuxContainerSecurityContext {
  checkRunAsNonRoot(pod, container, settings.imageUser);
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const group = own?.runAsGroup ?? shared?.runAsGroup;
  const selinuxOptions = own?.seLinuxOptions ?? shared?.seLinuxOptions;
  const unmasked = own?.procMount === 'Unmasked';
  return {
    ...(own?.capabilities !== undefined && {
      capabilities: {
        addCapabilities: own.capabilities.add ?? [],
        dropCapabilities: own.capabilities.drop ?? [],
      },
    }),
    privileged: own?.privileged === true,
    namespaceOptions: containerNamespaces(namespaceOptions(pod, settings.userNamespace), settings.targetContainerId),
    ...(selinuxOptions !== undefined && { selinuxOptions }),
    ...runAs(own?.runAsUser ?? shared?.runAsUser, settings.imageUser),
    ...(group !== undefined && { runAsGroup: { value: String(group) } }),
    readonlyRootfs: own?.readOnlyRootFilesystem === true,
    supplementalGroups: [
      ...optional(shared?.fsGroup),
      ...(shared?.supplementalGroups ?? []),
      ...(settings.volumeGroups ?? []),
    ].map(String),
    supplementalGroupsPolicy: groupsPolicy(pod),
    noNewPrivs: own?.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...MASKED_PATHS, ...(settings.nodeMaskedPaths ?? [])],
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    seccomp: seccompProfile(pod, container, settings),
    ...appArmorProfile(pod, container),
  };
}

/**
 * The security context of a pod's sandbox (behaviour:sandbox-config). Its own process always gets the runtime's seccomp
 * profile.
 */
export function sandboxSecurity(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  { volumeGroups = [], userNamespace }: PodSecuritySettings,
): LinuxSandboxSecurityContext {
  const { containers, ephemeralContainers = [], initContainers = [], securityContext: shared } = pod.spec;
  const all: readonly Container[] = [...initContainers, ...containers, ...ephemeralContainers];
  return {
    namespaceOptions: namespaceOptions(pod, userNamespace),
    ...(shared?.seLinuxOptions !== undefined && { selinuxOptions: shared.seLinuxOptions }),
    ...(shared?.runAsUser !== undefined && { runAsUser: { value: String(shared.runAsUser) } }),
    ...(shared?.runAsGroup !== undefined && { runAsGroup: { value: String(shared.runAsGroup) } }),
    supplementalGroups: [...optional(shared?.fsGroup), ...volumeGroups, ...(shared?.supplementalGroups ?? [])].map(
      String,
    ),
    supplementalGroupsPolicy: groupsPolicy(pod),
    privileged: all.some(({ securityContext }) => securityContext?.privileged === true),
    seccomp: { profileType: 'RuntimeDefault' },
  };
}

/** An ephemeral container joins its target only where each container has its own process namespace. */
function containerNamespaces(shared: NamespaceOption, target: string | undefined): NamespaceOption {
  if (target === undefined || shared.pid !== 'CONTAINER') return shared;
  return { ...shared, pid: 'TARGET', targetId: target };
}

function runAs(
  user: number | undefined,
  image: ImageUser | undefined,
): Pick<LinuxContainerSecurityContext, 'runAsUser' | 'runAsUsername'> {
  if (user !== undefined) return { runAsUser: { value: String(user) } };
  if (image === undefined) return {};
  return 'uid' in image ? { runAsUser: { value: image.uid } } : { runAsUsername: image.username };
}

function groupsPolicy(pod: Pick<Pod, 'spec'>): SupplementalGroupsPolicy {
  return pod.spec.securityContext?.supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge';
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
