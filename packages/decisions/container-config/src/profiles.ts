import type { Container, Pod, SecurityProfile } from '@kubus/contracts';
import type { SecurityProfile as CriProfile } from '@kubus/proto/cri';
import { ContainerConfigError } from './errors.ts';

export interface SeccompSettings {
  /** `seccompDefault`: whether a container without a profile gets the runtime's instead of none. Default: false. */
  readonly seccompDefault?: boolean;
  /** Absolute folder of localhost profiles. */
  readonly seccompFolder?: string;
}

const SECCOMP_FOLDER = '/var/lib/kubelet/seccomp';

/** The container's seccomp profile, or else the pod's, or else the node's default (behaviour:security-options). */
export function seccompProfile(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'securityContext'>,
  { seccompDefault = false, seccompFolder = SECCOMP_FOLDER }: SeccompSettings,
): CriProfile {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  switch (profile?.type) {
    case 'RuntimeDefault':
    case 'Unconfined':
      return { profileType: profile.type };
    case 'Localhost': {
      const name = profile.localhostProfile ?? '';
      if (name === '') {
        throw new ContainerConfigError('localhostProfile must be set if seccompProfile type is Localhost.');
      }
      return { profileType: 'Localhost', localhostRef: `${seccompFolder}/${name}` };
    }
    default:
      return { profileType: seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
  }
}

const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

/** In both forms that runtimes accept. */
export interface AppArmorProfile {
  readonly apparmor?: CriProfile;
  readonly apparmorProfile?: string;
}

/**
 * The AppArmor profile that is specified by the container's field, by the pod's older annotation, or by the pod; undefined
 * when none of them specifies one (behaviour:security-options).
 */
export function askedAppArmor(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Pick<Container, 'name' | 'securityContext'>,
): SecurityProfile | undefined {
  return (
    container.securityContext?.appArmorProfile ??
    annotatedProfile(pod.metadata.annotations?.[APPARMOR_ANNOTATION + container.name]) ??
    pod.spec.securityContext?.appArmorProfile
  );
}

/** That profile in CRI's form; empty when none is specified. Throws ContainerConfigError when it is invalid. */
export function appArmorProfile(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Pick<Container, 'name' | 'securityContext'>,
): AppArmorProfile {
  const profile = askedAppArmor(pod, container);
  switch (profile?.type) {
    case undefined:
      return {};
    case 'RuntimeDefault':
      return { apparmor: { profileType: 'RuntimeDefault' }, apparmorProfile: 'runtime/default' };
    case 'Unconfined':
      return { apparmor: { profileType: 'Unconfined' }, apparmorProfile: 'unconfined' };
    case 'Localhost': {
      const name = profile.localhostProfile;
      if (name === undefined) throw new ContainerConfigError('missing localhost apparmor profile name');
      return { apparmor: { profileType: 'Localhost', localhostRef: name }, apparmorProfile: `localhost/${name}` };
    }
    default:
      throw new ContainerConfigError(`unknown apparmor profile type: ${profile?.type}`);
  }
}

function annotatedProfile(value: string | undefined): SecurityProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  const prefix = 'localhost/';
  if (value?.startsWith(prefix) === true) return { type: 'Localhost', localhostProfile: value.slice(prefix.length) };
  return undefined;
}
