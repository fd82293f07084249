import { pod } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { Container, Pod } from '@kubus/contracts';
import {
  type SandboxSettings,
  type SecuritySettings,
  containerConfig,
  imageUser,
  refuseUserNamespace,
  sandboxConfig,
} from '../src/index.ts';
import { thrown } from './thrown.ts';

type Spec = Partial<Pod['spec']>;
type OfContainer = Container['securityContext'];
type OfPod = Pod['spec']['securityContext'];

function security(
  own: OfContainer,
  shared: OfPod,
  settings: SecuritySettings = {},
  metadata: Partial<Pod['metadata']> = {},
) {
  const container = { name: 'c', ...(own !== undefined && { securityContext: own }) };
  const spec = { containers: [container], ...(shared !== undefined && { securityContext: shared }) };
  const made = containerConfig(pod(spec, metadata), container, {
    attempt: 0,
    imageId: 'i',
    memoryCapacity: 1n,
    ...settings,
  });
  return made.linux?.securityContext;
}

const sandbox = (spec: Spec, settings: Partial<SandboxSettings> = {}) =>
  sandboxConfig(pod(spec), { attempt: 0, logDirectory: '/l', cgroupParent: '/p', ...settings }).linux;

describe('user and groups', () => {
  test.each<[OfContainer, OfPod, SecuritySettings, object]>([
    [{}, { runAsUser: 5, runAsGroup: 6 }, {}, { runAsUser: { value: '5' }, runAsGroup: { value: '6' } }],
    [
      { runAsUser: 0, runAsGroup: 0 },
      { runAsUser: 5, runAsGroup: 6 },
      {},
      { runAsUser: { value: '0' }, runAsGroup: { value: '0' } },
    ],
    [{}, {}, { imageUser: { uid: '7' } }, { runAsUser: { value: '7' } }],
    [{}, {}, { imageUser: { username: 'web' } }, { runAsUsername: 'web' }],
    [{ runAsUser: 1 }, {}, { imageUser: { username: 'web' } }, { runAsUser: { value: '1' } }],
    [
      {},
      { fsGroup: 1, supplementalGroups: [2, 3], supplementalGroupsPolicy: 'Strict' },
      { volumeGroups: [4] },
      { supplementalGroups: ['1', '2', '3', '4'], supplementalGroupsPolicy: 'Strict' },
    ],
    [{}, {}, {}, { supplementalGroups: [], supplementalGroupsPolicy: 'Merge' }],
  ])('are set for %j in a pod of %j, with %j', (own, shared, settings, expected) => {
    expect(security(own, shared, settings)).toMatchObject(expected);
  });

  test('use no user name of the image together with a number', () => {
    expect(security({ runAsUser: 1 }, {}, { imageUser: { username: 'web' } })).not.toHaveProperty('runAsUsername');
  });

  test.each([
    [{ uid: { value: '3' }, username: '' }, { uid: '3' }],
    [{ uid: {} }, { uid: '0' }],
    [{ username: 'web' }, { username: 'web' }],
    [{}, { uid: '0' }],
  ])('are read from the image %j', (image, expected) => expect(imageUser(image)).toEqual(expected));
});

describe('runAsNonRoot', () => {
  const who = '(pod: "p_default(u1)", container: c)';
  test.each<[OfContainer, OfPod, SecuritySettings, string]>([
    [{ runAsNonRoot: true, runAsUser: 0 }, {}, {}, `container's runAsUser breaks non-root policy ${who}`],
    [{}, { runAsNonRoot: true, runAsUser: 0 }, {}, `container's runAsUser breaks non-root policy ${who}`],
    [
      {},
      { runAsNonRoot: true },
      { imageUser: { uid: '0' } },
      `container has runAsNonRoot and image will run as root ${who}`,
    ],
    [
      {},
      { runAsNonRoot: true },
      { imageUser: { username: 'web' } },
      `container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root ${who}`,
    ],
    [{}, { runAsNonRoot: true }, {}, `container has runAsNonRoot and the user of its image is not known ${who}`],
  ])('refuses %j in a pod of %j, with %j', (own, shared, settings, message) => {
    expect(thrown(() => security(own, shared, settings))).toMatchObject({
      message,
      code: 'CreateContainerConfigError',
    });
  });

  test.each<[OfContainer, OfPod, SecuritySettings]>([
    [{ runAsNonRoot: false }, { runAsNonRoot: true }, { imageUser: { uid: '0' } }],
    [{ runAsUser: 1 }, { runAsNonRoot: true, runAsUser: 0 }, { imageUser: { uid: '0' } }],
    [{}, { runAsNonRoot: true }, { imageUser: { uid: '1' } }],
  ])('accepts %j in a pod of %j, with %j', (own, shared, settings) => {
    expect(thrown(() => security(own, shared, settings))).toBeUndefined();
  });
});

describe('security profiles', () => {
  const seccompFolder = '/state/seccomp';
  test.each<[OfContainer, OfPod, SecuritySettings, object]>([
    [{}, {}, {}, { profileType: 'Unconfined' }],
    [{}, {}, { seccompDefault: true }, { profileType: 'RuntimeDefault' }],
    [{}, { seccompProfile: { type: 'Unconfined' } }, { seccompDefault: true }, { profileType: 'Unconfined' }],
    [
      { seccompProfile: { type: 'RuntimeDefault' } },
      { seccompProfile: { type: 'Unconfined' } },
      {},
      { profileType: 'RuntimeDefault' },
    ],
    [
      { seccompProfile: { type: 'Localhost', localhostProfile: 'audit/a.json' } },
      {},
      { seccompFolder },
      { profileType: 'Localhost', localhostRef: '/state/seccomp/audit/a.json' },
    ],
  ])('translate the seccomp profile of %j in a pod of %j, with %j', (own, shared, settings, expected) => {
    expect(security(own, shared, settings)?.seccomp).toEqual(expected);
  });

  const annotated = (value: string) => ({ annotations: { 'container.apparmor.security.beta.kubernetes.io/c': value } });
  const local = { apparmor: { profileType: 'Localhost', localhostRef: 'a' }, apparmorProfile: 'localhost/a' };
  test.each<[OfContainer, OfPod, Partial<Pod['metadata']>, object]>([
    [{ appArmorProfile: { type: 'Localhost', localhostProfile: 'a' } }, {}, annotated('unconfined'), local],
    [{}, { appArmorProfile: { type: 'Unconfined' } }, annotated('localhost/a'), local],
    [
      {},
      { appArmorProfile: { type: 'RuntimeDefault' } },
      annotated('odd'),
      { apparmor: { profileType: 'RuntimeDefault' }, apparmorProfile: 'runtime/default' },
    ],
    [{}, {}, annotated('runtime/default'), { apparmorProfile: 'runtime/default' }],
    [{}, {}, annotated('unconfined'), { apparmor: { profileType: 'Unconfined' }, apparmorProfile: 'unconfined' }],
  ])('translate the AppArmor profile of %j in a pod of %j, %j', (own, shared, metadata, expected) => {
    expect(security(own, shared, {}, metadata)).toMatchObject(expected);
  });

  test('contain no AppArmor profile unless one is specified', () => {
    expect(security({}, {})).not.toHaveProperty('apparmor');
    expect(security({}, {})).not.toHaveProperty('apparmorProfile');
  });

  test.each<[OfContainer, string]>([
    [{ seccompProfile: { type: 'Localhost' } }, 'localhostProfile must be set if seccompProfile type is Localhost.'],
    [{ appArmorProfile: { type: 'Localhost' } }, 'missing localhost apparmor profile name'],
    [{ appArmorProfile: { type: 'Odd' } }, 'unknown apparmor profile type: Odd'],
  ])('are refused: %j', (own, message) => expect(thrown(() => security(own, {}))).toMatchObject({ message }));
});

describe('the security context of a container', () => {
  test('has the container’s SELinux options before the pod’s, and in the sandbox the pod’s', () => {
    const shared = { seLinuxOptions: { level: 's0:c1' } };
    expect(security({ seLinuxOptions: { type: 't' } }, shared)?.selinuxOptions).toEqual({ type: 't' });
    expect(security({}, shared)?.selinuxOptions).toEqual({ level: 's0:c1' });
    expect(sandbox({ securityContext: shared })?.securityContext?.selinuxOptions).toEqual({ level: 's0:c1' });
  });

  test('masks /proc unless an unmasked one is requested, even for privileged containers', () => {
    const nodeMaskedPaths = ['/sys/devices/system/cpu/cpu0/thermal_throttle'];
    const masked = security({ privileged: true }, {}, { nodeMaskedPaths });
    expect(masked?.maskedPaths).toEqual(expect.arrayContaining(['/proc/kcore', ...nodeMaskedPaths]));
    expect(masked?.readonlyPaths).toContain('/proc/sys');
    const unmasked = security({ procMount: 'Unmasked' }, {}, { nodeMaskedPaths });
    expect(unmasked).toMatchObject({ maskedPaths: [], readonlyPaths: [] });
  });

  test.each([
    [undefined, false],
    [true, false],
    [false, true],
  ])('translates allowPrivilegeEscalation %j', (allowPrivilegeEscalation, noNewPrivs) => {
    const own = { ...(allowPrivilegeEscalation !== undefined && { allowPrivilegeEscalation }) };
    expect(security(own, {})).toMatchObject({ noNewPrivs });
  });

  test.each(['initContainers', 'containers', 'ephemeralContainers'])(
    'makes the sandbox privileged if one of %s is privileged',
    (list) => {
      const spec = { [list]: [{ name: 'x', securityContext: { privileged: true } }] };
      expect(sandbox(spec)?.securityContext?.privileged).toBe(true);
      expect(sandbox({})?.securityContext?.privileged).toBe(false);
    },
  );

  test('of a sandbox always has the runtime’s seccomp profile, and groups of volumes before the others', () => {
    const securityContext = { fsGroup: 1, supplementalGroups: [2], seccompProfile: { type: 'Unconfined' } };
    expect(sandbox({ securityContext }, { volumeGroups: [9] })?.securityContext).toMatchObject({
      seccomp: { profileType: 'RuntimeDefault' },
      supplementalGroups: ['1', '9', '2'],
    });
  });
});

describe('the namespaces of a pod', () => {
  const container: Container = { name: 'c' };
  const namespaces = (spec: Spec, settings: SecuritySettings = {}) =>
    containerConfig(pod(spec), container, { attempt: 0, imageId: 'i', memoryCapacity: 1n, ...settings }).linux
      ?.securityContext?.namespaceOptions;

  test('let an ephemeral container see its target’s processes, unless the pod shares them anyway', () => {
    const settings = { targetContainerId: 't' };
    expect(namespaces({}, settings)).toMatchObject({ pid: 'TARGET', targetId: 't' });
    expect(namespaces({ shareProcessNamespace: true }, settings)).not.toHaveProperty('targetId');
    expect(namespaces({ hostPID: true }, settings)).toMatchObject({ pid: 'NODE' });
  });

  test('include its own user namespace', () => {
    const userNamespace = { hostId: 131_072, length: 65_536 };
    const mapping = [{ hostId: 131_072, containerId: 0, length: 65_536 }];
    const expected = { mode: 'POD', uids: mapping, gids: mapping };
    expect(namespaces({ hostUsers: false }, { userNamespace })?.usernsOptions).toEqual(expected);
    const made = sandbox({ hostUsers: false }, { userNamespace });
    expect(made?.securityContext?.namespaceOptions?.usernsOptions).toEqual(expected);
    expect(namespaces({ hostUsers: true }, { userNamespace })?.usernsOptions).toEqual({ mode: 'NODE' });
  });

  test.each([
    ['', { '': true }, undefined],
    ['vm', { '': false, vm: true }, undefined],
    ['', undefined, "can't set `spec.hostUsers: false`, runtime does not support user namespaces"],
    ['', { '': false, vm: true }, "can't set `spec.hostUsers: false`, runtime does not support user namespaces"],
    [
      'vm',
      { '': true, vm: false },
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "vm" does not support user namespaces',
    ],
    [
      'vm',
      { '': true },
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "vm" does not support user namespaces: the handler "vm" is not known',
    ],
  ])('refuse a user namespace for handler %j where the runtime reports %j', (handler, reported, refusal) => {
    const features =
      reported && Object.entries(reported).map(([name, userNamespaces]) => [name, { userNamespaces }] as const);
    expect(refuseUserNamespace(handler, features && Object.fromEntries(features))).toBe(refusal);
  });

  test('are refused if the pod needs a user namespace and has no ids', () => {
    const message = 'no user namespace has been allocated for pod "p"';
    expect(thrown(() => sandbox({ hostUsers: false }))).toMatchObject({ message, code: 'CreatePodSandboxError' });
  });
});
