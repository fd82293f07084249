import type { Pod, PodSecurityContext, PodSpec, SecurityContext, SecurityProfile } from '@kubus/contracts';
import type { FieldErrors, FieldPath } from './field.ts';
import { descendingPath, unixId } from './names.ts';

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const LOCALHOST_PROFILE_MAX_BYTES = 4095;

export function checkSecurityContext(
  context: SecurityContext | undefined,
  hostUsers: boolean,
  path: FieldPath,
  errors: FieldErrors,
): void {
  if (context === undefined) return;
  checkIds(context, ['runAsUser', 'runAsGroup'], path, errors);
  const { procMount, privileged, allowPrivilegeEscalation, capabilities } = context;
  if (procMount !== undefined) {
    const at = path.child('procMount');
    errors.oneOf(at, procMount, ['Default', 'Unmasked']);
    if (hostUsers && procMount === 'Unmasked') {
      errors.invalid(at, procMount, '`hostUsers` must be false to use `Unmasked`');
    }
  }
  if (allowPrivilegeEscalation === false) {
    if (privileged === true) {
      errors.invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
    }
    if (capabilities?.add?.includes('CAP_SYS_ADMIN') === true) {
      const detail = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN';
      errors.invalid(path, context, detail);
    }
  }
  checkSeccomp(context.seccompProfile, path.child('seccompProfile'), errors);
  checkAppArmor(context.appArmorProfile, path.child('appArmorProfile'), errors);
}

export function checkPodSecurityContext(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const context = spec.securityContext;
  const at = path.child('securityContext');
  if (context !== undefined) {
    checkIds(context, ['fsGroup', 'runAsUser', 'runAsGroup'], at, errors);
    for (const [i, group] of (context.supplementalGroups ?? []).entries()) {
      errors.each(at.child('supplementalGroups').index(i), group, unixId(group));
    }
    checkSysctls(spec, context.sysctls ?? [], at.child('sysctls'), errors);
    checkChoice(context, 'fsGroupChangePolicy', ['Always', 'OnRootMismatch'], at, errors);
    checkChoice(context, 'supplementalGroupsPolicy', ['Merge', 'Strict'], at, errors);
    checkChoice(context, 'seLinuxChangePolicy', ['MountOption', 'Recursive'], at, errors);
    checkSeccomp(context.seccompProfile, at.child('seccompProfile'), errors);
    checkAppArmor(context.appArmorProfile, at.child('appArmorProfile'), errors);
  }
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled';
    errors.invalid(at.child('shareProcessNamespace'), true, detail);
  }
  if (spec.hostUsers === false) checkOwnUsers(spec, path, errors);
}

/** Checks what a pod with its own user namespace must not use. The reference reports two of the fields by their Go names. */
function checkOwnUsers(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const detail = 'when `hostUsers` is false';
  if (spec.hostNetwork === true) errors.forbidden(path.child('hostNetwork'), detail);
  if (spec.hostPID === true) errors.forbidden(path.child('HostPID'), detail);
  if (spec.hostIPC === true) errors.forbidden(path.child('HostIPC'), detail);
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [i, { volumeDevices = [] }] of (spec[list] ?? []).entries()) {
      if (volumeDevices.length > 0) errors.forbidden(path.child(list).index(i).child('volumeDevices'), detail);
    }
  }
}

/** What older manifests' annotations with an AppArmor profile begin with; the container's name follows. */
export const APP_ARMOR_KEY = 'container.apparmor.security.beta.kubernetes.io/';

/** Older manifests specify AppArmor profiles in annotations, which must be well formed and must not contradict the fields. */
export function checkAppArmorAnnotations(pod: Pod, path: FieldPath, errors: FieldErrors): void {
  const { initContainers = [], containers } = pod.spec;
  const all = new Map([...initContainers, ...containers].map((container) => [container.name, container]));
  for (const [key, value] of Object.entries(pod.metadata.annotations ?? {})) {
    if (!key.startsWith(APP_ARMOR_KEY)) continue;
    const at = path.child('metadata', 'annotations').key(key);
    const name = key.slice(APP_ARMOR_KEY.length);
    const container = all.get(name);
    if (container === undefined) errors.invalid(at, name, 'container not found');
    if (!['', 'runtime/default', 'unconfined'].includes(value) && !value.startsWith('localhost/')) {
      errors.invalid(at, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`);
    }
    const profile = container?.securityContext?.appArmorProfile ?? pod.spec.securityContext?.appArmorProfile;
    if (profile === undefined || annotationOf(profile) === value) continue;
    errors.forbidden(at, 'apparmor profile in annotation and field must match');
  }
}

function annotationOf({ type, localhostProfile = '' }: SecurityProfile): string {
  if (type === 'Localhost') return `localhost/${localhostProfile}`;
  return type === 'Unconfined' ? 'unconfined' : 'runtime/default';
}

function checkIds<F extends 'runAsUser' | 'runAsGroup' | 'fsGroup'>(
  context: Readonly<Partial<Record<F, number | undefined>>>,
  fields: readonly F[],
  path: FieldPath,
  errors: FieldErrors,
): void {
  for (const field of fields) {
    const id = context[field];
    if (id !== undefined) errors.each(path.child(field), id, unixId(id));
  }
}

function checkChoice(
  context: PodSecurityContext,
  field: 'fsGroupChangePolicy' | 'supplementalGroupsPolicy' | 'seLinuxChangePolicy',
  choices: readonly string[],
  path: FieldPath,
  errors: FieldErrors,
): void {
  const value = context[field];
  if (value !== undefined && !choices.includes(value)) errors.unsupported(path.child(field), value, choices);
}

function checkSeccomp(profile: SecurityProfile | undefined, path: FieldPath, errors: FieldErrors): void {
  if (profile === undefined) return;
  const { type, localhostProfile } = profile;
  const at = path.child('localhostProfile');
  if (type === '') errors.required(path.child('type'), 'type is required when seccompProfile is set');
  else if (!profileTypes.includes(type)) errors.unsupported(path.child('type'), type, profileTypes);
  if (type === 'Localhost') {
    if (localhostProfile === undefined) errors.required(at, 'must be set when seccomp type is Localhost');
    else errors.each(at, localhostProfile, descendingPath(localhostProfile));
  } else if (localhostProfile !== undefined) {
    errors.invalid(at, localhostProfile, 'can only be set when seccomp type is Localhost');
  }
}

function checkAppArmor(profile: SecurityProfile | undefined, path: FieldPath, errors: FieldErrors): void {
  if (profile === undefined) return;
  const { type, localhostProfile } = profile;
  const at = path.child('localhostProfile');
  if (type === '') errors.required(path.child('type'), 'type is required when appArmorProfile is set');
  else if (!profileTypes.includes(type)) errors.unsupported(path.child('type'), type, profileTypes);
  if (type === 'Localhost') {
    const name = localhostProfile ?? '';
    if (name.trim() === '') errors.required(at, 'must be set when AppArmor type is Localhost');
    else if (name.trim() !== name) errors.invalid(at, name, 'must not be padded with whitespace');
    if (name.length > LOCALHOST_PROFILE_MAX_BYTES) errors.tooLong(at, LOCALHOST_PROFILE_MAX_BYTES);
  } else if (localhostProfile !== undefined) {
    errors.invalid(at, localhostProfile, 'can only be set when AppArmor type is Localhost');
  }
}

const SYSCTL_MAX_LENGTH = 253;
const sysctlPart = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const sysctlName = new RegExp(String.raw`^(${sysctlPart}[\./])*${sysctlPart}$`);

function checkSysctls(spec: PodSpec, sysctls: readonly { name: string }[], path: FieldPath, errors: FieldErrors): void {
  const names = new Set<string>();
  for (const [i, { name }] of sysctls.entries()) {
    const at = path.index(i).child('name');
    if (name === '') {
      errors.required(at);
    } else if (name.length > SYSCTL_MAX_LENGTH || !sysctlName.test(name)) {
      errors.invalid(
        at,
        name,
        `must have at most ${SYSCTL_MAX_LENGTH} characters and match regex ${sysctlName.source}`,
      );
    } else if (names.has(name)) {
      errors.duplicate(at, name);
    }
    names.add(name);
    const dotted = name.replaceAll('/', '.');
    if (spec.hostNetwork === true && dotted.startsWith('net.')) {
      errors.invalid(at, name, "may not be specified when 'hostNetwork' is true");
    }
    if (spec.hostIPC === true && /^kernel\.(sem$|shm|msg)|^fs\.mqueue\./.test(dotted)) {
      errors.invalid(at, name, "may not be specified when 'hostIPC' is true");
    }
  }
}
