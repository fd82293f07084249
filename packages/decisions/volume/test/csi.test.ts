import { describe, expect, test } from '@jest/globals';
import type { CachedObject, CsiDriver, CsiVolumeSource, Pod } from '@kubus/contracts';
import fc from 'fast-check';
import {
  type CsiStep,
  type CsiVolumeName,
  type KnownObjects,
  attachmentName,
  csiDevicePlace,
  csiPodPath,
  csiStagingPlace,
  expandedCapacity,
  inlineVolumeHandle,
  planVolumes,
  pluginRegistry,
  podCsiFolders,
} from '../src/index.ts';

describe('the paths of a CSI volume', () => {
  const volume: CsiVolumeName = { driver: 'd.test', volumeHandle: 'vol-1', specName: 'pv1', block: false };
  const device: CsiVolumeName = { ...volume, block: true };
  const root = '/var/lib/kubelet';
  const plugin = `${root}/plugins/kubernetes.io/csi`;
  // sha256("vol-1")
  const folder = `${plugin}/d.test/d2e8363faaac7ae76def3b14091d8eb5755f6b92e9531627aeec833a8731cc49`;

  test.each<[string, unknown, unknown]>([
    ['are where plugins are registered', pluginRegistry(root), `${root}/plugins_registry`],
    ['are where it is staged', csiStagingPlace(root, volume), { data: folder, staging: `${folder}/globalmount` }],
    [
      'are where it is staged as a device',
      csiStagingPlace(root, device),
      { data: `${plugin}/volumeDevices/pv1/data`, staging: `${plugin}/volumeDevices/staging/pv1` },
    ],
    [
      'are where it is a device',
      csiDevicePlace(root, 'u1', 'pv1'),
      { published: `${plugin}/volumeDevices/publish/pv1/u1`, held: `${plugin}/volumeDevices/pv1/dev/u1` },
    ],
    ['are in the pod’s folder', csiPodPath(root, 'u1', volume), `${root}/pods/u1/volumes/kubernetes.io~csi/pv1/mount`],
    [
      'are in the pod’s folder as a device',
      csiPodPath(root, 'u1', device),
      `${root}/pods/u1/volumeDevices/kubernetes.io~csi/pv1`,
    ],
    [
      'are the pod’s folders',
      podCsiFolders(root, 'u1'),
      {
        files: `${root}/pods/u1/volumes/kubernetes.io~csi`,
        devices: `${root}/pods/u1/volumeDevices/kubernetes.io~csi`,
      },
    ],
    // sha256("u1cache") and sha256("vol-1d.testnode0")
    [
      'include the handle of an inline volume',
      inlineVolumeHandle('u1', 'cache'),
      'csi-2eb40120db329d0b1883693648d926ab29de838ab9b06942cb9e21f9d29b0788',
    ],
    [
      'include the name of its attachment',
      attachmentName(volume, 'node0'),
      'csi-f26ffec090e1e4beecb56a85e41b2ffd15168d6a8df74c61ef2747517daea421',
    ],
  ])('%s', (_, place, expected) => expect(place).toEqual(expected));

  test('are never outside their folders: a name that would lead there is refused', () => {
    for (const name of ['..', '.', '', 'a/b', '../a']) {
      expect(() => csiStagingPlace(root, { ...volume, driver: name })).toThrow('cannot be the name of a folder');
      expect(() => csiStagingPlace(root, { ...device, specName: name })).toThrow('cannot be the name of a folder');
      expect(() => csiDevicePlace(root, name, 'pv1')).toThrow('cannot be the name of a folder');
      expect(() => csiDevicePlace(root, 'u1', name)).toThrow('cannot be the name of a folder');
      for (const one of [volume, device]) {
        expect(() => csiPodPath(root, 'u1', { ...one, specName: name })).toThrow('cannot be the name of a folder');
        expect(() => csiPodPath(root, name, one)).toThrow('cannot be the name of a folder');
      }
    }
    // A handle is chosen by the driver and may be any text.
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (volumeHandle) => {
        expect(csiStagingPlace(root, { ...volume, volumeHandle }).data).toMatch(/\/csi\/d\.test\/[0-9a-f]{64}$/);
      }),
    );
  });
});

describe('an inline volume', () => {
  const driver: CsiDriver = {
    ...{ name: 'd.test', attachRequired: true, podInfoOnMount: false, requiresRepublish: false, seLinuxMount: false },
    ...{ fsGroupPolicy: 'ReadWriteOnceWithFSType', lifecycleModes: ['Persistent', 'Ephemeral'], tokenRequests: [] },
  };
  interface Facts {
    readonly driver?: Partial<CsiDriver> | 'missing' | 'unknown';
    readonly secret?: CachedObject;
  }

  function planned(source: Partial<CsiVolumeSource>, facts: Facts = {}, securityContext?: object) {
    const { driver: said = {}, secret } = facts;
    const known: KnownObjects = {
      object: ({ namespace, name }) => (`${namespace}/${name}` === 'team/key' ? secret : undefined),
      csiDriver: () => (said === 'unknown' ? undefined : said === 'missing' ? said : { ...driver, ...said }),
      claim: () => undefined,
      attachment: () => undefined,
      node: () => undefined,
      trustBundles: () => undefined,
      allocatable: () => undefined,
    };
    const pod: Pod = {
      metadata: { name: 'p', namespace: 'team', uid: 'u1' },
      spec: {
        volumes: [{ name: 'v', csi: { driver: 'd.test', ...source } }],
        containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
        serviceAccountName: 'robot',
        ...(securityContext && { securityContext }),
      },
    };
    return planVolumes(pod, { root: '/k', memory: 1n, noSwap: false }, known)[0];
  }

  const step: CsiStep = {
    ...{ kind: 'csi', path: '/k/pods/u1/volumes/kubernetes.io~csi/v/mount', specName: 'v', driver: 'd.test' },
    ...{ volumeHandle: inlineVolumeHandle('u1', 'v'), readOnly: false, accessMode: 'SINGLE_NODE_WRITER', block: false },
    ...{ mountOptions: [], volumeAttributes: {}, publishContext: {}, tellPod: false, tokens: [] },
    pod: { namespace: 'team', name: 'p', uid: 'u1', serviceAccount: 'robot' },
    ...{ requiresRepublish: false, inline: true },
  };
  const reference = { kind: 'Secret', namespace: 'team', name: 'key' } as const;
  const withSecret = { nodePublishSecretRef: { name: 'key' } };
  const noSecret =
    'fetching NodePublishSecretRef team/key failed: kubernetes.io/csi: failed to find the secret key in the namespace team with error';
  const noMode =
    'kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver d.test';

  // A driver whose volumes have to be attached: inline volumes are never attached.
  test.each<[string, Partial<CsiVolumeSource>, Facts, object]>([
    ['minimal settings', {}, {}, { step }],
    [
      'all settings of its pod',
      { readOnly: true, fsType: 'xfs', volumeAttributes: { a: 'b' } },
      {},
      { step: { ...step, readOnly: true, fsType: 'xfs', volumeAttributes: { a: 'b' } } },
    ],
    [
      'all settings of its driver',
      {},
      { driver: { podInfoOnMount: true, requiresRepublish: true, tokenRequests: [{ audience: 'vault' }] } },
      { step: { ...step, tellPod: true, requiresRepublish: true, tokens: [{ audience: 'vault' }] } },
    ],
    ['an unknown driver waits for it', {}, { driver: 'unknown' }, { awaits: 'the CSIDrivers of the cluster' }],
    ['no CSIDriver', {}, { driver: 'missing' }, { refusal: `${noMode} (no CSIDriver object)` }],
    [
      'a driver for claims only',
      {},
      { driver: { lifecycleModes: ['Persistent'] } },
      { refusal: `${noMode} (only supports ["Persistent"])` },
    ],
    [
      'a driver with unknown lifecycle modes',
      {},
      { driver: { lifecycleModes: ['A', 'B'] } },
      { refusal: `${noMode} (only supports ["A" "B"])` },
    ],
    ['a Secret that has not been read', withSecret, {}, { awaits: 'Secret team/key from the API server' }],
    [
      'a missing Secret',
      withSecret,
      { secret: { ...reference, state: 'missing' } },
      { refusal: `${noSecret}: secrets "key" not found` },
    ],
    [
      'a refused Secret',
      withSecret,
      { secret: { ...reference, state: 'refused', message: 'no' } },
      { refusal: `${noSecret}: no` },
    ],
    [
      'a Secret',
      withSecret,
      { secret: { ...reference, state: 'present', uid: 's', version: '5', keys: ['k'] } },
      { step: { ...step, publishSecret: { ...reference, version: '5' } } },
    ],
  ])('with %s is planned', (_, source, facts, expected) =>
    expect(planned(source, facts)).toEqual({ name: 'v', ...expected }),
  );

  test.each<[string, Partial<CsiVolumeSource>, boolean]>([
    ['ReadWriteOnceWithFSType', { fsType: 'ext4' }, true],
    ['ReadWriteOnceWithFSType', {}, false],
    ['ReadWriteOnceWithFSType', { fsType: 'ext4', readOnly: true }, false],
    ['File', {}, true],
    ['File', { readOnly: true }, false],
    ['None', { fsType: 'ext4' }, false],
  ])('with %s and %j has the pod’s group: %s', (fsGroupPolicy, source, wanted) => {
    const plan = planned(source, { driver: { fsGroupPolicy } }, { fsGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' });
    expect(plan).toMatchObject({ step: { mountGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' } });
    if (wanted) expect(plan).toHaveProperty('step.fsGroup', 7);
    else expect(plan).not.toHaveProperty('step.fsGroup');
  });
});

test.each([
  ['2Gi', '2147483648', '2147483648', '2Gi'],
  // The same size in another notation keeps its notation.
  ['2048Mi', '2147483648', '2147483648', '2048Mi'],
  ['2Gi', '2147483648', '0', '2Gi'],
  ['2G', '2000000000', '2147483648', '2Gi'],
  ['2Gi', '2147483648', '2147483649', '2147483649'],
  ['1500M', '1500000000', '1501560832', '1432Mi'],
])(
  'a volume of %s (%s bytes), expanded by its driver to %s bytes, has the capacity %s',
  (capacity, bytes, made, expected) => {
    expect(expandedCapacity({ bytes, capacity }, made)).toBe(expected);
  },
);
