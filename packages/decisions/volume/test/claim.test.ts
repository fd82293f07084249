import { describe, expect, test } from '@jest/globals';
import type {
  CachedObject,
  CsiDriver,
  CsiPersistentVolume,
  PersistentVolume,
  Pod,
  PresentClaim,
  VolumeAttachment,
  VolumeClaim,
} from '@kubus/contracts';
import { type KnownObjects, type VolumePlan, claimsOf, csiAccessMode, failedMount, planVolumes } from '../src/index.ts';

const settings = { root: '/k', memory: 1n, noSwap: false };
const key = { namespace: 'team', name: 'data' };

const persistent: PersistentVolume = {
  ...{ name: 'pv1', uid: 'pv-uid', claimUid: 'c1', accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' },
  ...{ mountOptions: [], capacity: '1Gi', source: { kind: 'hostPath', path: '/data', type: 'Directory' } },
};
const present: PresentClaim = {
  ...{ state: 'present', ...key, uid: 'c1', deleting: false, protected: true, phase: 'Bound', volumeName: 'pv1' },
  ...{ volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'], capacity: '1Gi', resizePending: false },
  volume: persistent,
};

/** What is known, as a table of facts. */
interface Facts {
  readonly claim?: VolumeClaim;
  readonly driver?: CsiDriver | 'missing';
  readonly attachment?: VolumeAttachment;
  readonly inUse?: readonly string[];
  readonly attached?: readonly string[];
  readonly secrets?: Readonly<Record<string, CachedObject>>;
}

function knowing({ claim, driver, attachment, inUse, attached, secrets = {} }: Facts): KnownObjects {
  return {
    object: ({ namespace, name }) => secrets[`${namespace}/${name}`],
    claim: ({ namespace, name }) => (namespace === claim?.namespace && name === claim.name ? claim : undefined),
    csiDriver: () => driver,
    attachment: () => attachment,
    node: () => inUse && { volumesInUse: [...inUse], volumesAttached: [...(attached ?? [])] },
    trustBundles: () => undefined,
    allocatable: () => undefined,
  };
}

function pod(volume: object = { persistentVolumeClaim: { claimName: 'data' } }, spec: Partial<Pod['spec']> = {}): Pod {
  const volumeMounts = [{ name: 'v', mountPath: '/v' }];
  return {
    metadata: { name: 'p', namespace: 'team', uid: 'u1' },
    spec: { volumes: [{ name: 'v', ...volume }], containers: [{ name: 'c', volumeMounts }], ...spec },
  };
}

const planned = (facts: Facts, of: Pod = pod()) => planVolumes(of, settings, knowing(facts))[0];
const change = (claim: Partial<PresentClaim>, volume: Partial<PersistentVolume> = {}): Facts => ({
  claim: { ...present, volume: { ...persistent, ...volume }, ...claim },
});

test('the claims of a pod are those that its containers use, named or created for the pod', () => {
  const volumes = [
    { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'b', ephemeral: {} },
    { name: 'unused', persistentVolumeClaim: { claimName: 'other' } },
    { name: 'c', emptyDir: {} },
  ];
  const volumeMounts = ['a', 'b', 'c'].map((name) => ({ name, mountPath: `/${name}` }));
  expect(claimsOf(pod({}, { volumes, containers: [{ name: 'c', volumeMounts }] }))).toEqual([
    key,
    { namespace: 'team', name: 'p-b' },
  ]);
});

describe('a claim', () => {
  const refused = (text: string) => ({ name: 'v', at: 'claim', refusal: text });
  const processing = (text: string) => refused(`error processing PVC team/data: ${text}`);

  test.each<[string, Facts, object]>([
    ['that has not been read is awaited', {}, { name: 'v', awaits: 'claim team/data from the API server' }],
    [
      'whose volume has not been read is awaited',
      { claim: { ...present, volume: undefined } },
      { name: 'v', awaits: 'the volume of claim team/data from the API server' },
    ],
    [
      'that does not exist is refused',
      { claim: { ...key, state: 'missing' } },
      processing('failed to fetch PVC from API server: persistentvolumeclaims "data" not found'),
    ],
    [
      'that the API server does not return is refused',
      { claim: { ...key, state: 'refused', message: 'no relationship' } },
      processing('failed to fetch PVC from API server: no relationship'),
    ],
    [
      'that is being deleted is refused',
      change({ deleting: true, protected: false }),
      processing('PVC is being deleted'),
    ],
    ['that is not bound is refused', change({ phase: 'Pending' }), processing('PVC is not bound')],
    [
      'without a volume name is refused',
      change({ volumeName: undefined }),
      processing('PVC has empty pvc.Spec.VolumeName'),
    ],
    [
      'whose volume the API server does not return is refused',
      { claim: { ...present, volume: undefined, volumeProblem: 'persistentvolumes "pv1" not found' } },
      processing('failed to fetch PV pv1 from API server: persistentvolumes "pv1" not found'),
    ],
    [
      'whose volume has no claim is refused',
      change({}, { claimUid: undefined }),
      processing('found PV object pv1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim'),
    ],
    [
      'whose volume belongs to another claim is refused',
      change({}, { claimUid: 'c0' }),
      processing('found PV object pv1 but its pv.Spec.ClaimRef.UID c0 does not point to claim.UID c1'),
    ],
    [
      'of block mode that is mounted is refused',
      change({}, { volumeMode: 'Block' }),
      refused('volume v has volumeMode Block, but is specified in volumeMounts'),
    ],
    [
      'of an unsupported kind is refused',
      change({}, { source: { kind: 'other', name: 'iscsi' } }),
      { name: 'v', specName: 'pv1', refusal: 'this version of Kubus does not mount iscsi volumes' },
    ],
  ])('%s', (_, facts, expected) => expect(planned(facts)).toEqual(expected));

  const step = { kind: 'host', path: '/data', type: 'Directory', readOnly: false };

  test('that is being deleted and protected can still be used', () => {
    expect(planned(change({ deleting: true }))).toEqual({ name: 'v', specName: 'pv1', step });
  });

  test('is read-only only if the pod specifies it', () => {
    const readOnly = pod({ persistentVolumeClaim: { claimName: 'data', readOnly: true } });
    expect(planned(change({}), readOnly)).toEqual({ name: 'v', specName: 'pv1', step: { ...step, readOnly: true } });
  });

  test.each<[string, PersistentVolume['source'], 'Filesystem' | 'Block', object]>([
    [
      'folder',
      { kind: 'local', path: '/disk' },
      'Filesystem',
      { step: { kind: 'local', source: '/disk', specName: 'pv1', fsType: 'ext4', readOnly: false, claim: key } },
    ],
    ['device', { kind: 'local', path: '/dev/x' }, 'Block', { step: { kind: 'localDevice', source: '/dev/x' } }],
    [
      'folder of a server, which is writable whatever the PersistentVolume specifies',
      { kind: 'nfs', server: 's', path: '/x', readOnly: true },
      'Filesystem',
      { step: { kind: 'nfs', source: 's:/x', options: ['soft'], readOnly: false, claim: key } },
    ],
    [
      'folder of a server in block mode',
      { kind: 'nfs', server: 's', path: '/x', readOnly: false },
      'Block',
      { refusal: 'this version of Kubus does not mount nfs block volumes' },
    ],
    [
      'folder of the host in block mode',
      { kind: 'hostPath', path: '/x', type: '' },
      'Block',
      { refusal: 'this version of Kubus does not mount hostPath block volumes' },
    ],
  ])('has its volume planned as a %s', (_, source, volumeMode, expected) => {
    const devices = [{ name: 'c', volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] }];
    const of = pod(undefined, volumeMode === 'Block' ? { containers: devices } : {});
    const plan = planned(change({}, { source, volumeMode, mountOptions: ['soft'] }), of);
    expect(plan).toMatchObject({ name: 'v', specName: 'pv1', ...expected });
  });

  test.each([
    ['1234', { gid: 1234 }],
    ['a', {}],
    ['', {}],
  ])('has the group of the annotation %j of its volume', (gid, expected) => {
    expect(planned(change({}, { gid }))).toEqual({ name: 'v', specName: 'pv1', step, ...expected });
  });

  test('of file system mode that is used as a device is refused', () => {
    const containers = [{ name: 'c', volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] }];
    expect(planned(change({}), pod(undefined, { containers }))).toEqual(
      refused('volume v has volumeMode Filesystem, but is specified in volumeDevices'),
    );
  });

  test('that was created for the pod must be controlled by it', () => {
    const ephemeral = (controllerUid: string | undefined) =>
      planned({ claim: { ...present, name: 'p-v', controllerUid } }, pod({ ephemeral: {} }));
    expect(ephemeral('u1')).toMatchObject({ step });
    for (const other of [undefined, 'u0']) {
      expect(ephemeral(other)).toEqual(refused('PVC team/p-v was not created for pod team/p (pod is not owner)'));
    }
  });

  test('has the reference’s event messages', () => {
    const said = (plan: VolumePlan | undefined) => plan && failedMount(plan, 'refusal' in plan ? plan.refusal : '');
    expect(said(planned(change({ phase: 'Pending' })))).toBe(
      'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: error processing PVC team/data: PVC is not bound',
    );
    expect(said(planned(change({}, { source: { kind: 'other', name: 'fc' } })))).toBe(
      'MountVolume.SetUp failed for volume "pv1" : this version of Kubus does not mount fc volumes',
    );
  });
});

describe('a volume of a CSI driver', () => {
  const source: CsiPersistentVolume = {
    ...{ kind: 'csi', driver: 'd.test', volumeHandle: 'h1', fsType: 'ext4', readOnly: false },
    volumeAttributes: { a: 'b' },
  };
  const unique = 'kubernetes.io/csi/d.test^h1';
  const driver: CsiDriver = {
    ...{ name: 'd.test', attachRequired: false, podInfoOnMount: false, requiresRepublish: false, seLinuxMount: false },
    ...{ fsGroupPolicy: 'ReadWriteOnceWithFSType', lifecycleModes: ['Persistent'], tokenRequests: [] },
  };
  const facts = (
    more: Facts = {},
    part: Partial<CsiPersistentVolume> = {},
    volume: Partial<PersistentVolume> = {},
  ) => ({
    ...change({}, { source: { ...source, ...part }, ...volume }),
    driver,
    ...more,
  });
  const step = {
    ...{ kind: 'csi', path: '/k/pods/u1/volumes/kubernetes.io~csi/pv1/mount', specName: 'pv1' },
    ...{ driver: 'd.test', volumeHandle: 'h1', fsType: 'ext4', readOnly: false, block: false },
    ...{ accessMode: 'SINGLE_NODE_WRITER', mountOptions: [], volumeAttributes: { a: 'b' }, publishContext: {} },
    pod: { namespace: 'team', name: 'p', uid: 'u1', serviceAccount: '' },
    ...{ tellPod: false, tokens: [], requiresRepublish: false, inline: false, claim: { ...key, uid: 'c1' } },
  };

  test('that needs no attachment is mounted at once', () => {
    expect(planned(facts())).toEqual({ name: 'v', specName: 'pv1', step });
  });

  test('is mounted as its CSIDriver specifies', () => {
    const tokenRequests = [{ audience: 'vault', expirationSeconds: 600 }];
    const configured = { ...driver, podInfoOnMount: true, requiresRepublish: true, tokenRequests };
    const of = pod(undefined, { ...pod().spec, serviceAccountName: 'robot' });
    expect(planned(facts({ driver: configured }), of)).toMatchObject({
      step: { tellPod: true, requiresRepublish: true, tokens: tokenRequests, pod: { serviceAccount: 'robot' } },
    });
    expect(planned({ ...facts(), driver: undefined })).toMatchObject({
      awaits: 'the CSIDrivers of the cluster',
    });
    expect(planned(facts({ driver: { ...driver, lifecycleModes: ['Ephemeral'] } }))).toMatchObject({
      refusal: expect.stringMatching(
        /volume mode "Persistent" not supported by driver d.test \(only supports \["Ephemeral"\]\)$/,
      ),
    });
  });

  test('is a device if its claim specifies it', () => {
    const containers = [{ name: 'c', volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] }];
    const of = pod(undefined, { containers, securityContext: { fsGroup: 5 } });
    const plan = planned(facts({}, {}, { volumeMode: 'Block' }), of);
    expect(plan).toMatchObject({ step: { block: true, path: '/k/pods/u1/volumeDevices/kubernetes.io~csi/pv1' } });
    expect(plan).not.toHaveProperty('step.fsGroup');
  });

  const attachment: VolumeAttachment = {
    ...{ name: 'csi-1', driver: 'd.test', volumeHandle: 'h1', attached: true, metadata: { path: '/dev/sdb' } },
  };
  test.each<[string, Facts, object]>([
    ['the Node', {}, { awaits: 'the Node object' }],
    ['its entry in volumesInUse', { inUse: [] }, { awaits: `${unique} in volumesInUse of the Node object` }],
    [
      'its entry in volumesInUse, even if it is attached',
      { inUse: [], attached: [unique], attachment },
      { awaits: /InUse/ },
    ],
    ['its attachment', { inUse: [unique], attachment }, { awaits: `the attachment of ${unique} to the node` }],
    ['its VolumeAttachment', { inUse: [unique], attached: [unique] }, { awaits: `the VolumeAttachment of ${unique}` }],
    [
      'its VolumeAttachment to be attached',
      { inUse: [unique], attached: [unique], attachment: { ...attachment, attached: false } },
      { awaits: `the VolumeAttachment of ${unique}` },
    ],
    [
      'nothing when attaching fails',
      { inUse: [unique], attached: [unique], attachment: { ...attachment, attached: false, error: 'too many' } },
      { refusal: 'too many', at: 'attach' },
    ],
    [
      'nothing when it is attached',
      { inUse: [unique], attached: [unique], attachment },
      { step: { ...step, publishContext: { path: '/dev/sdb' } } },
    ],
  ])('that has to be attached waits for %s', (_, known, expected) => {
    for (const one of [{ ...driver, attachRequired: true }, 'missing'] as const) {
      const plan = planned(facts({ ...known, driver: one }));
      const [[field, value] = ['', '']] = Object.entries(expected);
      if (value instanceof RegExp) expect(plan).toHaveProperty(field, expect.stringMatching(value));
      else expect(plan).toEqual({ name: 'v', specName: 'pv1', attachable: unique, ...expected });
    }
  });

  test.each<[string, string, string[], string | undefined, boolean]>([
    ['ReadWriteOnceWithFSType', 'ext4', ['ReadWriteOnce'], 'OnRootMismatch', true],
    ['ReadWriteOnceWithFSType', 'ext4', ['ReadOnlyMany', 'ReadWriteOncePod'], undefined, true],
    ['ReadWriteOnceWithFSType', 'ext4', ['ReadWriteMany'], undefined, false],
    ['ReadWriteOnceWithFSType', '', ['ReadWriteOnce'], undefined, false],
    ['File', '', ['ReadWriteMany'], undefined, true],
    ['None', 'ext4', ['ReadWriteOnce'], undefined, false],
  ])(
    'has the pod’s group according to %s, %s, %j',
    (fsGroupPolicy, fsType, accessModes, fsGroupChangePolicy, wanted) => {
      const securityContext = { fsGroup: 7, ...(fsGroupChangePolicy !== undefined && { fsGroupChangePolicy }) };
      const known = facts({ driver: { ...driver, fsGroupPolicy } }, { fsType }, { accessModes });
      const plan = planned(known, pod(undefined, { ...pod().spec, securityContext }));
      expect(plan).toHaveProperty('step.kind', 'csi');
      if (wanted) expect(plan).toMatchObject({ step: securityContext });
      else expect(plan).not.toHaveProperty('step.fsGroup');
      const readOnly = pod({ persistentVolumeClaim: { claimName: 'data', readOnly: true } }, { securityContext });
      expect(planned(known, { ...readOnly, spec: { ...pod().spec, ...readOnly.spec } })).not.toHaveProperty(
        'step.fsGroup',
      );
    },
  );

  test('is expanded to its size if the claim does not have it, but not by a pod that mounts it read-only', () => {
    const larger = facts({}, {}, { capacity: '2Gi' });
    expect(planned(larger)).toHaveProperty('step.expandTo', { bytes: String(2 * 1024 ** 3), capacity: '2Gi' });
    const readOnly = pod({ persistentVolumeClaim: { claimName: 'data', readOnly: true } });
    for (const same of [
      planned(facts()),
      planned(larger, { ...readOnly, spec: { ...pod().spec, ...readOnly.spec } }),
    ]) {
      expect(same).toHaveProperty('step');
      expect(same).not.toHaveProperty('step.expandTo');
    }
  });

  const secret = { namespace: 'csi', name: 'key' };
  const reference = { kind: 'Secret', ...secret } as const;
  test.each<[string, Partial<CsiPersistentVolume>, CachedObject | undefined, object]>([
    [
      'has not been read waits for it',
      { nodeStageSecret: secret },
      undefined,
      { awaits: 'Secret csi/key from the API server' },
    ],
    [
      'is missing is refused',
      { nodeStageSecret: secret },
      { ...reference, state: 'missing' },
      {
        refusal:
          'fetching NodeStageSecretRef csi/key failed: failed to find the secret key in the namespace csi with error: secrets "key" not found',
        at: 'device',
      },
    ],
    [
      'cannot be read is refused',
      { nodePublishSecret: secret },
      { ...reference, state: 'refused', message: 'no' },
      {
        refusal:
          'fetching NodePublishSecretRef csi/key failed: failed to find the secret key in the namespace csi with error: no',
        at: 'setUp',
      },
    ],
    [
      'exists refers to its version',
      { nodeStageSecret: secret, nodeExpandSecret: secret },
      { ...reference, state: 'present', version: '5', uid: 's', keys: ['k'] },
      { step: { ...step, stageSecret: { ...reference, version: '5' }, expandSecret: { ...reference, version: '5' } } },
    ],
  ])('whose Secret %s', (_, part, object, expected) => {
    const secrets: Facts['secrets'] = object === undefined ? {} : { 'csi/key': object };
    expect(planned(facts({ secrets }, part))).toEqual({ name: 'v', specName: 'pv1', ...expected });
  });

  test.each([
    [['ReadWriteOnce', 'ReadOnlyMany'], 'SINGLE_NODE_WRITER'],
    [['ReadOnlyMany'], 'MULTI_NODE_READER_ONLY'],
    [['ReadWriteMany'], 'MULTI_NODE_MULTI_WRITER'],
    [['ReadWriteOncePod'], 'SINGLE_NODE_SINGLE_WRITER'],
    [[], 'SINGLE_NODE_WRITER'],
    [['Other'], 'UNKNOWN'],
  ])('with the access modes %j has the CSI access mode %s', (modes, expected) =>
    expect(csiAccessMode(modes)).toBe(expected),
  );
});
