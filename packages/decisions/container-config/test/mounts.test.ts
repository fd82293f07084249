import { describe, expect, test } from '@jest/globals';
import type { VolumeMount } from '@kubus/contracts';
import { type MountSettings, containerMounts, subPathOf } from '../src/index.ts';
import { thrown } from './thrown.ts';

const volumes = new Map([
  ['data', { hostPath: '/v/data', selinuxRelabel: true }],
  ['sec', { hostPath: '/v/sec', readOnly: true }],
  ['disk', { hostPath: '/v/disk', device: true }],
  ['img', { hostPath: '', readOnly: true, image: { image: 'registry/app:1' } }],
]);
const mounts = (volumeMounts: VolumeMount[], settings: MountSettings = {}) =>
  containerMounts({ name: 'c', volumeMounts }, { volumes, ...settings }, { mode: 'NODE' });

describe('containerMounts', () => {
  test.each<[VolumeMount, MountSettings, object]>([
    [
      { name: 'data', mountPath: '/d' },
      {},
      {
        containerPath: '/d',
        hostPath: '/v/data',
        readonly: false,
        propagation: 'PROPAGATION_PRIVATE',
        selinuxRelabel: false,
      },
    ],
    [{ name: 'data', mountPath: 'd' }, {}, { containerPath: '/d' }],
    [{ name: 'data', mountPath: '/d', readOnly: true }, {}, { readonly: true, recursiveReadOnly: false }],
    [{ name: 'sec', mountPath: '/s' }, {}, { readonly: true }],
    [{ name: 'data', mountPath: '/d' }, { selinux: true }, { selinuxRelabel: true }],
    [{ name: 'sec', mountPath: '/d' }, { selinux: true }, { selinuxRelabel: false }],
    [
      { name: 'data', mountPath: '/d', mountPropagation: 'HostToContainer' },
      {},
      { propagation: 'PROPAGATION_HOST_TO_CONTAINER' },
    ],
    [
      { name: 'data', mountPath: '/d', mountPropagation: 'Bidirectional' },
      {},
      { propagation: 'PROPAGATION_BIDIRECTIONAL' },
    ],
    [{ name: 'data', mountPath: '/d', subPath: 'a' }, { subPaths: new Map([[0, '/sub/0']]) }, { hostPath: '/sub/0' }],
    [
      { name: 'data', mountPath: '/d', subPathExpr: '$(A)' },
      { subPaths: new Map([[0, '/sub/0']]) },
      { hostPath: '/sub/0' },
    ],
    [
      { name: 'img', mountPath: '/i', subPath: 'bin' },
      {},
      { hostPath: '', image: { image: 'registry/app:1' }, imageSubPath: 'bin', readonly: true },
    ],
    [{ name: 'img', mountPath: '/i', subPathExpr: '$(A)' }, {}, { imageSubPath: '$(A)' }],
    [{ name: 'img', mountPath: '/i' }, {}, { imageSubPath: '' }],
    [
      { name: 'data', mountPath: '/d', readOnly: true, recursiveReadOnly: 'IfPossible' },
      {},
      { recursiveReadOnly: false },
    ],
    [
      { name: 'data', mountPath: '/d', readOnly: true, recursiveReadOnly: 'IfPossible' },
      { recursiveReadOnly: true },
      { recursiveReadOnly: true },
    ],
    [
      { name: 'data', mountPath: '/d', readOnly: true, recursiveReadOnly: 'Enabled' },
      { recursiveReadOnly: true },
      { recursiveReadOnly: true },
    ],
  ])('translates %j with the settings %j', (mount, settings, expected) =>
    expect(mounts([mount], settings)).toEqual([expect.objectContaining(expected)]),
  );

  const asked =
    'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not';
  test.each<[VolumeMount, string]>([
    [
      { name: 'img', mountPath: '/i', subPath: '../bin' },
      "unable to provision SubPath `../bin`: must not contain '..'",
    ],
    [{ name: 'disk', mountPath: '/d' }, 'cannot find volume "disk" to mount into container "c"'],
    [{ name: 'none', mountPath: '/d' }, 'cannot find volume "none" to mount into container "c"'],
    [
      { name: 'data', mountPath: '/d', subPath: 'a' },
      'failed to prepare subPath for volumeMount "data" of container "c"',
    ],
    [{ name: 'data', mountPath: '/d', mountPropagation: 'Odd' }, 'invalid MountPropagation mode: "Odd"'],
    [{ name: 'data', mountPath: '/d', recursiveReadOnly: 'Enabled' }, `${asked} read-only`],
    [
      {
        name: 'data',
        mountPath: '/d',
        readOnly: true,
        recursiveReadOnly: 'Enabled',
        mountPropagation: 'HostToContainer',
      },
      `${asked} compatible with propagation "HostToContainer"`,
    ],
    [
      { name: 'data', mountPath: '/d', readOnly: true, recursiveReadOnly: 'Enabled' },
      `${asked} supported by the runtime`,
    ],
    [
      { name: 'data', mountPath: '/d', readOnly: true, recursiveReadOnly: 'Odd' },
      'failed to resolve recursive read-only mode: unknown recursive read-only mode "Odd"',
    ],
  ])('refuses %j', (mount, message) => {
    expect(thrown(() => mounts([mount]))).toMatchObject({ message, code: 'CreateContainerConfigError' });
  });

  const files = { etcHostsPath: '/pod/etc-hosts', terminationLogPath: '/pod/c/1' };

  test('lists mounts of devices first, then volumes, the hosts file and the termination message', () => {
    const deviceMounts = [{ containerPath: '/dev/x', hostPath: '/dev/x' }];
    const made = mounts([{ name: 'data', mountPath: '/d' }], { ...files, deviceMounts, selinux: true });
    expect(made.map(({ containerPath, hostPath }) => [containerPath, hostPath])).toEqual([
      ['/dev/x', '/dev/x'],
      ['/d', '/v/data'],
      ['/etc/hosts', '/pod/etc-hosts'],
      ['/dev/termination-log', '/pod/c/1'],
    ]);
    expect(made.slice(2).every(({ selinuxRelabel }) => selinuxRelabel)).toBe(true);
  });

  test('omits the hosts file if the container mounts its own, and an absent termination message file', () => {
    const volumeMounts = [{ name: 'data', mountPath: '/etc/hosts' }];
    const made = containerMounts(
      { name: 'c', volumeMounts, terminationMessagePath: '' },
      { volumes, ...files },
      undefined,
    );
    expect(made).toEqual([expect.objectContaining({ containerPath: '/etc/hosts', hostPath: '/v/data' })]);
  });

  test('sets the ids of the pod’s user namespace on every mount', () => {
    const mapping = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
    const made = containerMounts({ name: 'c' }, files, { mode: 'POD', uids: mapping, gids: mapping });
    expect(made).toHaveLength(2);
    for (const mount of made) expect(mount).toMatchObject({ uidMappings: mapping, gidMappings: mapping });
  });
});

describe('subPathOf', () => {
  const variables = new Map([
    ['POD', 'web-0'],
    ['UP', '../..'],
    ['EMPTY', ''],
  ]);
  const path = (mount: Partial<VolumeMount>) => subPathOf({ name: 'v', mountPath: '/v', ...mount }, variables);

  test.each<[Partial<VolumeMount>, string | undefined]>([
    [{}, undefined],
    [{ subPath: 'a/b' }, 'a/b'],
    [{ subPath: '$(POD)' }, '$(POD)'],
    [{ subPathExpr: 'logs/$(POD)' }, 'logs/web-0'],
    [{ subPathExpr: '$$(POD)' }, '$(POD)'],
    [{ subPath: '..data' }, '..data'],
  ])('expands %j', (mount, expected) => expect(path(mount)).toBe(expected));

  test.each<[Partial<VolumeMount>, string]>([
    [{ subPathExpr: '$(B)/$(A)/$(B)' }, 'missing value for A, B'],
    [{ subPathExpr: 'a/$(EMPTY)' }, 'missing value for EMPTY'],
    [{ subPath: '/a' }, 'error SubPath `/a` must not be an absolute path'],
    [{ subPathExpr: '$(UP)' }, "unable to provision SubPath `$(UP)`: must not contain '..'"],
  ])('refuses %j', (mount, message) => expect(thrown(() => path(mount))).toMatchObject({ message }));
});
