import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import fc from 'fast-check';
import {
  type FileKind,
  type KnownObjects,
  VolumePathError,
  emptyDirFolder,
  failedMount,
  hasNoSwap,
  hostPathStep,
  neededVolumes,
  planVolumes,
  podFolder,
  retryWait,
  volumeGoal,
} from '../src/index.ts';

const settings = { root: '/k', memory: 8n * 1024n ** 3n, noSwap: false };
const MiB = 1024n * 1024n;

function pod(spec: Partial<Pod['spec']>): Pod {
  return { metadata: { name: 'p', namespace: 'default', uid: 'u1' }, spec: { containers: [], ...spec } };
}

/** A pod whose only container mounts all of its volumes. */
function mounting(volumes: NonNullable<Pod['spec']['volumes']>, spec: Partial<Pod['spec']> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return pod({ volumes, ...spec, containers: [{ name: 'c', ...spec.containers?.[0], volumeMounts }] });
}

test('a pod needs the volumes that some container uses, except those that the runtime mounts', () => {
  const volumes = ['init', 'main', 'ephemeral', 'device', 'file', 'image', 'unused'].map((name) => ({
    name,
    ...(name === 'image' ? { image: { reference: 'x' } } : { emptyDir: {} }),
  }));
  const mounts = (...names: string[]) => names.map((name) => ({ name, mountPath: `/${name}` }));
  const fileKeyRef = { volumeName: 'file', path: 'env', key: 'A' };
  const wanted = neededVolumes(
    pod({
      volumes,
      initContainers: [{ name: 'i', volumeMounts: mounts('init') }],
      containers: [
        {
          name: 'c',
          volumeMounts: mounts('main', 'image'),
          volumeDevices: [{ name: 'device', devicePath: '/dev/x' }],
          env: [{ name: 'A', valueFrom: { fileKeyRef } }],
        },
      ],
      ephemeralContainers: [{ name: 'e', volumeMounts: mounts('ephemeral') }],
    }),
  );
  expect(wanted.map(({ name }) => name)).toEqual(['init', 'main', 'ephemeral', 'device', 'file']);
});

const nothing = () => undefined;
const ofClaims = { claim: nothing, csiDriver: nothing, attachment: nothing, node: nothing };
const known: KnownObjects = { object: nothing, ...ofClaims, trustBundles: nothing, allocatable: nothing };

describe('an emptyDir', () => {
  const path = '/k/pods/u1/volumes/kubernetes.io~empty-dir/v';
  const step = (emptyDir: object, spec: Partial<Pod['spec']> = {}, more: object = {}) =>
    planVolumes(mounting([{ name: 'v', emptyDir }], spec), { ...settings, ...more }, known)[0];

  test('is counted by the kernel where that is wanted, for pods with a user namespace', () => {
    const quotaOf = (emptyDir: object, hostUsers: boolean | undefined, projectQuotas: boolean) => {
      const plan = step(emptyDir, hostUsers === undefined ? {} : { hostUsers }, { projectQuotas });
      return plan !== undefined && 'step' in plan && plan.step.kind === 'folder' && plan.step.quota === true;
    };
    expect(quotaOf({}, false, true)).toBe(true);
    expect(quotaOf({ sizeLimit: '1Mi' }, false, true)).toBe(true);
    expect(quotaOf({}, undefined, true)).toBe(false);
    expect(quotaOf({}, true, true)).toBe(false);
    expect(quotaOf({}, false, false)).toBe(false);
    expect(quotaOf({ medium: 'Memory' }, false, true)).toBe(false);
  });

  test('is a folder, with the pod’s group if it has one', () => {
    expect(step({})).toEqual({ name: 'v', step: { kind: 'folder', path, mode: 0o777 } });
    expect(step({ sizeLimit: '1Mi' }, { securityContext: { fsGroup: 1234 } })).toEqual({
      name: 'v',
      step: { kind: 'folder', path, mode: 0o2777, gid: 1234, sizeLimit: '1Mi' },
    });
  });

  test.each<[string, string | undefined, string | undefined, bigint]>([
    ['the node’s memory', undefined, undefined, settings.memory],
    ['its own limit', '8Mi', undefined, 8n * MiB],
    ['the pod’s limit', undefined, '64Mi', 64n * MiB],
    ['the smallest limit', '128Mi', '64Mi', 64n * MiB],
    ['the smallest limit', '32Mi', '64Mi', 32n * MiB],
    ['the node’s memory with a limit of 0, which means none', '0', undefined, settings.memory],
    ['the node’s memory with a larger limit', '1Ei', undefined, settings.memory],
  ])('in memory is as large as %s (%s, %s)', (_, sizeLimit, limit, size) => {
    const resources = limit === undefined ? {} : { limits: { memory: limit } };
    const planned = step(
      { medium: 'Memory', ...(sizeLimit !== undefined && { sizeLimit }) },
      {
        containers: [{ name: 'c', resources }],
      },
    );
    expect(planned).toEqual({
      name: 'v',
      step: { kind: 'memory', path, type: 'tmpfs', options: [`size=${size}`, 'mode=1777'] },
    });
  });

  test('in memory has the pod’s group, and is kept out of swap if the kernel supports that', () => {
    const planned = step({ medium: 'Memory', sizeLimit: '1' }, { securityContext: { fsGroup: 7 } }, { noSwap: true });
    expect(planned).toMatchObject({ step: { options: ['size=1', 'mode=3777', 'gid=7', 'noswap'] } });
    expect(['6.3.9', '5.10.0-44-amd64', 'unknown'].map(hasNoSwap)).toEqual([false, false, false]);
    expect(['6.4.0', '6.18.1-x', '7.0.0'].map(hasNoSwap)).toEqual([true, true, true]);
  });

  test.each<[string, Record<string, string>, object]>([
    [
      'HugePages',
      { 'hugepages-2Mi': '4Mi' },
      { step: { type: 'hugetlbfs', options: ['pagesize=2097152', 'mode=777'] } },
    ],
    [
      'HugePages-1Gi',
      { 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' },
      { step: { options: ['pagesize=1073741824', 'mode=777'] } },
    ],
    [
      'HugePages',
      {},
      { refusal: 'medium HugePages requires a pod that requests huge pages of exactly one size, not 0' },
    ],
    [
      'HugePages',
      { 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' },
      { refusal: 'medium HugePages requires a pod that requests huge pages of exactly one size, not 2' },
    ],
    [
      'HugePages-1Gi',
      { 'hugepages-2Mi': '4Mi' },
      { refusal: 'medium HugePages-1Gi is not a huge page size that the pod requests' },
    ],
    ['Floppy', {}, { refusal: 'unknown storage medium "Floppy"' }],
  ])('of medium %s in a pod with %j is planned', (medium, limits, expected) => {
    expect(step({ medium }, { containers: [{ name: 'c', resources: { limits } }] })).toMatchObject(expected);
  });
});

test('other volumes are hostPath volumes, or refused by name', () => {
  const volumes = [
    { name: 'a', hostPath: { path: '/a' } },
    { name: 'b', hostPath: { path: '/b', type: 'File' } },
    { name: 'c', gitRepo: { repository: 's' } },
  ];
  expect(planVolumes(mounting(volumes), settings, known)).toEqual([
    { name: 'a', step: { kind: 'host', path: '/a', type: '' } },
    { name: 'b', step: { kind: 'host', path: '/b', type: 'File' } },
    { name: 'c', refusal: 'this version of Kubus does not mount gitRepo volumes' },
  ]);
});

describe('a hostPath', () => {
  const kinds: readonly (FileKind | undefined)[] = [
    'directory',
    'file',
    'socket',
    'character device',
    'block device',
    'other',
    undefined,
  ];
  const fits: Readonly<Record<string, FileKind>> = {
    Directory: 'directory',
    DirectoryOrCreate: 'directory',
    File: 'file',
    FileOrCreate: 'file',
    Socket: 'socket',
    CharDevice: 'character device',
    BlockDevice: 'block device',
  };
  const made = { DirectoryOrCreate: ['directory', 0o755], FileOrCreate: ['file', 0o644] } as const;
  const texts: Readonly<Record<string, string>> = {
    Directory: 'a directory',
    DirectoryOrCreate: 'a directory',
    File: 'a file',
    FileOrCreate: 'a file',
    Socket: 'a socket file',
    CharDevice: 'a character device',
    BlockDevice: 'a block device',
  };

  test.each(Object.keys(fits).flatMap((type) => kinds.map((found) => [type, found] as const)))(
    'of type %s is checked against an existing %s',
    (type, found) => {
      const [what, mode] = type in made ? made[type as keyof typeof made] : [];
      const expected =
        found === fits[type]
          ? { kind: 'use' }
          : found === undefined && what !== undefined
            ? { kind: 'make', what, mode }
            : { kind: 'refuse', error: `hostPath type check failed: /x is not ${texts[type] ?? ''}` };
      expect(hostPathStep('/x', type, found)).toEqual(expected);
    },
  );

  test('without a type is used unchanged; with an unknown type or `..` it is refused', () => {
    for (const found of kinds) expect(hostPathStep('/x', '', found)).toEqual({ kind: 'use' });
    expect(hostPathStep('/x', 'Pipe', 'other')).toEqual({ kind: 'refuse', error: 'Pipe is an invalid volume type' });
    expect(hostPathStep('/a/../b', '', 'file')).toEqual({
      kind: 'refuse',
      error: "invalid HostPath `/a/../b`: must not contain '..'",
    });
    expect(hostPathStep('/a..b', '', 'file')).toEqual({ kind: 'use' });
  });
});

test('no name leads out of its folder', () => {
  expect(emptyDirFolder('/k', 'u', 'v')).toBe('/k/pods/u/volumes/kubernetes.io~empty-dir/v');
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.constantFrom('..', '.', '', '../x', 'a/b', '/')), (name) => {
      try {
        const folder = podFolder('/k', name);
        expect(folder.slice('/k/pods/'.length)).toBe(name);
        expect(name).toMatch(/^(?!\.{1,2}$)[^/\0]+$/s);
      } catch (error) {
        if (!(error instanceof VolumePathError)) throw error;
        expect(name).not.toMatch(/^(?!\.{1,2}$)[^/\0]+$/s);
      }
    }),
  );
});

describe('the goal for a pod’s volumes', () => {
  const wanted = { work: 'sync', pod: pod({}) } as const;
  const ending = { work: 'kill', pod: pod({}) } as const;
  const stray = { work: 'sync' } as const;

  test.each([
    [wanted, undefined, false, 'make'],
    [wanted, 'syncing', false, 'make'],
    [wanted, 'terminating', true, 'keep'],
    [wanted, 'terminated', false, 'remove'],
    [wanted, 'finished', true, 'remove'],
    [ending, undefined, true, 'keep'],
    [ending, 'syncing', true, 'keep'],
    [ending, 'terminating', true, 'keep'],
    [ending, 'terminated', true, 'remove'],
    [stray, 'syncing', true, 'keep'],
    [undefined, undefined, false, 'keep'],
    [undefined, undefined, true, 'remove'],
    [undefined, 'syncing', true, 'keep'],
    [undefined, 'terminated', false, 'remove'],
  ] as const)('with work %j and worker %s, all known: %s, is %s', (work, worker, complete, goal) => {
    expect(volumeGoal(work, worker, complete)).toBe(goal);
  });
});

test('retry delays grow up to the maximum', () => {
  expect([1, 2, 3, 9, 100].map(retryWait)).toEqual([500, 1000, 2000, 122_000, 122_000]);
  expect(failedMount({ name: 'v', refusal: '' }, 'no')).toBe('MountVolume.SetUp failed for volume "v" : no');
});
