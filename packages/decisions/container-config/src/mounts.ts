import type { Container, VolumeMount } from '@kubus/contracts';
import { expandVariables } from '@kubus/pod';
import { recursiveReadOnly } from '@kubus/pod-status';
import type { ImageSpec, Mount, MountPropagation, UserNamespace } from '@kubus/proto/cri';
import { ContainerConfigError } from './errors.ts';

/** Where a volume of the pod is on the host. */
export interface MountedVolume {
  /** Absolute; unused with `image`. */
  readonly hostPath: string;
  /** Whether containers must not write to it: Secret, ConfigMap, projected and downward API volumes. */
  readonly readOnly?: boolean;
  /** Whether its files may get the container's SELinux label. */
  readonly selinuxRelabel?: boolean;
  /** It is a block device, which is not mounted. See {@link volumeDevices}. */
  readonly device?: boolean;
  /** For an image volume, which the runtime itself mounts. */
  readonly image?: ImageSpec;
}

export interface MountSettings {
  /** By volume name. */
  readonly volumes?: ReadonlyMap<string, MountedVolume>;
  /** Absolute host path of each prepared subPath, by the mount's index in the container. See {@link subPathOf}. */
  readonly subPaths?: ReadonlyMap<number, string>;
  /** Absolute host path of the pod's hosts file. Undefined: the container gets the image's. */
  readonly etcHostsPath?: string;
  /** Absolute host path of the file to which this run writes its termination message. */
  readonly terminationLogPath?: string;
  /** Mounts from device plugins. */
  readonly deviceMounts?: readonly Mount[];
  /** Whether SELinux is enabled on the node. Default: false. */
  readonly selinux?: boolean;
  /** Whether the pod's runtime handler supports recursive read-only mounts. Default: false. */
  readonly recursiveReadOnly?: boolean;
}

const ETC_HOSTS = '/etc/hosts';

/**
 * The mounts of a container (behaviour:container-config, mounts).
 *
 * @param userns the pod's user namespace, whose ids apply to every mount
 *
 * Throws {@link ContainerConfigError} when a volume is missing or a mount requires what the node does not support.
 */
export function containerMounts(
  container: Pick<Container, 'name' | 'volumeMounts' | 'terminationMessagePath'>,
  settings: MountSettings,
  userns: UserNamespace | undefined,
): Mount[] {
  const { deviceMounts = [], etcHostsPath, selinux = false, terminationLogPath } = settings;
  const wanted = container.volumeMounts ?? [];
  const mounts = [...deviceMounts, ...wanted.map((mount, index) => volumeMount(container, mount, index, settings))];
  const ownHosts = wanted.some(({ mountPath }) => mountPath === ETC_HOSTS);
  if (etcHostsPath !== undefined && !ownHosts) {
    mounts.push({ containerPath: ETC_HOSTS, hostPath: etcHostsPath, selinuxRelabel: selinux });
  }
  const messagePath = container.terminationMessagePath ?? '/dev/termination-log';
  if (terminationLogPath !== undefined && messagePath !== '') {
    mounts.push({ containerPath: messagePath, hostPath: terminationLogPath, selinuxRelabel: selinux });
  }
  if (userns?.mode !== 'POD') return mounts;
  return mounts.map((mount) => ({ ...mount, uidMappings: userns.uids ?? [], gidMappings: userns.gids ?? [] }));
}

/**
 * The path inside its volume that is mounted; undefined: the whole volume. `variables` are those of the container.
 *
 * Throws {@link ContainerConfigError} when a variable is missing or empty, or when the path would leave the volume. The
 * messages show the path unexpanded, because a variable may contain a secret.
 */
export function subPathOf(mount: VolumeMount, variables: ReadonlyMap<string, string>): string | undefined {
  const { subPath = '', subPathExpr = '' } = mount;
  const missing = new Set<string>();
  const written = subPathExpr === '' ? subPath : subPathExpr;
  const path = subPathExpr === '' ? subPath : expandStrictly(subPathExpr, variables, missing);
  if (missing.size > 0) {
    throw new ContainerConfigError(`missing value for ${[...missing].sort().join(', ')}`);
  }
  if (path.startsWith('/')) throw new ContainerConfigError(`error SubPath \`${written}\` must not be an absolute path`);
  if (path.split('/').includes('..')) {
    throw new ContainerConfigError(`unable to provision SubPath \`${written}\`: must not contain '..'`);
  }
  return path === '' ? undefined : path;
}

/** Positions in the result of {@link containerMounts} of images whose subPath contains references to variables. */
export function imageExpressions(
  { volumeMounts = [] }: Pick<Container, 'volumeMounts'>,
  { deviceMounts = [], volumes }: MountSettings,
): number[] {
  return volumeMounts.flatMap(({ name, subPathExpr = '' }, index) =>
    subPathExpr !== '' && volumes?.get(name)?.image !== undefined ? [deviceMounts.length + index] : [],
  );
}

/** Expands the variables. Throws {@link ContainerConfigError}, see {@link subPathOf}. */
export function expandImageSubPaths(
  mounts: readonly Mount[],
  positions: readonly number[],
  variables: ReadonlyMap<string, string>,
): Mount[] {
  return mounts.map((mount, position) => {
    if (!positions.includes(position)) return mount;
    const written = { name: '', mountPath: '', subPathExpr: mount.imageSubPath };
    return { ...mount, imageSubPath: subPathOf(written, variables) ?? '' };
  });
}

/** Unexpanded where it contains references to variables. */
function imageSubPath(mount: VolumeMount): string {
  const { subPathExpr = '' } = mount;
  return subPathExpr === '' ? (subPathOf(mount, new Map()) ?? '') : subPathExpr;
}

function expandStrictly(text: string, variables: ReadonlyMap<string, string>, missing: Set<string>): string {
  return expandVariables(text, (name) => {
    const value = variables.get(name);
    if (value === undefined || value === '') missing.add(name);
    return value;
  });
}

function volumeMount(
  container: Pick<Container, 'name'>,
  mount: VolumeMount,
  index: number,
  settings: MountSettings,
): Mount {
  const { mountPath, name } = mount;
  const containerPath = mountPath.startsWith('/') ? mountPath : `/${mountPath}`;
  const volume = settings.volumes?.get(name);
  if (volume === undefined || volume.device === true) {
    throw new ContainerConfigError(`cannot find volume "${name}" to mount into container "${container.name}"`);
  }
  const whole = (mount.subPath ?? '') === '' && (mount.subPathExpr ?? '') === '';
  const hostPath = whole || volume.image !== undefined ? volume.hostPath : settings.subPaths?.get(index);
  if (hostPath === undefined) {
    throw new ContainerConfigError(
      `failed to prepare subPath for volumeMount "${name}" of container "${container.name}"`,
    );
  }
  return {
    containerPath,
    hostPath,
    ...(volume.image !== undefined && { image: volume.image, imageSubPath: imageSubPath(mount) }),
    readonly: mount.readOnly === true || volume.readOnly === true,
    selinuxRelabel: settings.selinux === true && volume.selinuxRelabel === true,
    propagation: propagation(mount.mountPropagation),
    recursiveReadOnly: isRecursiveReadOnly(mount, settings.recursiveReadOnly === true),
  };
}

function propagation(mode: string | undefined): MountPropagation {
  switch (mode ?? 'None') {
    case 'None':
      return 'PROPAGATION_PRIVATE';
    case 'HostToContainer':
      return 'PROPAGATION_HOST_TO_CONTAINER';
    case 'Bidirectional':
      return 'PROPAGATION_BIDIRECTIONAL';
    default:
      throw new ContainerConfigError(`invalid MountPropagation mode: "${mode}"`);
  }
}

function isRecursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const recursive = recursiveReadOnly(mount, supported);
  if (typeof recursive === 'boolean') return recursive;
  throw new ContainerConfigError(`failed to resolve recursive read-only mode: ${recursive.refusal}`);
}
