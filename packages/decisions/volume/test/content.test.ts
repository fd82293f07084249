import { describe, expect, test } from '@jest/globals';
import {
  type CachedObject,
  type Pod,
  type TrustBundle,
  type Volume,
  type VolumeProjection,
  objectKey,
} from '@kubus/contracts';
import { type ContentStep, type KnownObjects, type VolumePlan, planVolumes } from '../src/index.ts';

const settings = { root: '/k', memory: 8n * 1024n ** 3n, noSwap: false };

const present = (kind: CachedObject['kind'], name: string, keys: string[], binaryKeys?: string[]): CachedObject => ({
  ...{ kind, namespace: 'team', name, state: 'present', uid: `uid-${name}`, version: `v-${name}`, keys },
  ...(binaryKeys && { binaryKeys }),
});
const objects: readonly CachedObject[] = [
  present('Secret', 's', ['user', 'password']),
  present('ConfigMap', 'c', ['text'], ['blob']),
  { kind: 'Secret', namespace: 'team', name: 'absent', state: 'missing' },
  { kind: 'ConfigMap', namespace: 'team', name: 'absent', state: 'missing' },
  {
    kind: 'Secret',
    namespace: 'team',
    name: 'forbidden',
    state: 'refused',
    message: 'secrets "forbidden" is forbidden',
  },
];
const pem = (...bodies: string[]) =>
  bodies.map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`).join('');
const bundles: readonly TrustBundle[] = [
  { name: 'root', labels: {}, trustBundle: `about\n${pem('AAAA', 'BBBB', 'AAAA')}` },
  { name: 'x:1', signerName: 'e.org/x', labels: { live: 'yes', v: '1' }, trustBundle: pem('CC\nCC') },
  { name: 'x:2', signerName: 'e.org/x', labels: { live: 'yes', v: '2' }, trustBundle: pem('CCCC', 'DDDD') },
  { name: 'y:1', signerName: 'e.org/y', labels: { live: 'yes' }, trustBundle: pem('EEEE') },
];
const known: KnownObjects = {
  object: (reference) => objects.find((one) => objectKey(one) === objectKey(reference)),
  claim: () => undefined,
  csiDriver: () => undefined,
  attachment: () => undefined,
  node: () => undefined,
  trustBundles: () => bundles,
  allocatable: () => ({ cpu: '3', memory: '2Gi' }),
};

type Source = Omit<Volume, 'name'>;

/** The plan of the pod's only volume. */
function planned(source: Source, spec: Partial<Pod['spec']> = {}, more: Partial<KnownObjects> = {}): VolumePlan {
  const volumeMounts = [{ name: 'v', mountPath: '/v' }];
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'team', uid: 'u1', labels: { b: '2', a: '1' }, annotations: { note: 'x"y' } },
    spec: {
      serviceAccountName: 'robot',
      ...spec,
      volumes: [{ name: 'v', ...source }],
      containers: spec.containers ?? [{ name: 'main', volumeMounts }],
    },
  };
  const [plan] = planVolumes(pod, settings, { ...known, ...more });
  if (plan === undefined) throw new Error('nothing is planned');
  return plan;
}

function stepOf(...args: Parameters<typeof planned>): ContentStep {
  const plan = planned(...args);
  if (!('step' in plan) || plan.step.kind !== 'content') throw new Error(JSON.stringify(plan));
  return plan.step;
}

/** `mode path` of each file, with its owner. */
const rights = ({ files }: ContentStep) =>
  files.map(({ path, mode, uid }) => `${mode.toString(8)} ${path}${uid === undefined ? '' : ` ${uid}`}`);
const projected = (...sources: VolumeProjection[]): Source => ({ projected: { sources } });
/** The content of the only file. */
const textOf = (...args: Parameters<typeof planned>) => {
  const [file] = stepOf(...args).files;
  return file?.source.kind === 'text' ? file.source.text : file;
};

describe('a Secret', () => {
  test('becomes files in memory, one for each key, which refer to its version and contain none of its values', () => {
    expect(planned({ secret: { secretName: 's' } })).toEqual({
      name: 'v',
      step: {
        kind: 'content',
        folder: {
          kind: 'memory',
          path: '/k/pods/u1/volumes/kubernetes.io~secret/v',
          type: 'tmpfs',
          options: [`size=${settings.memory}`, 'mode=1777'],
        },
        files: [
          { path: 'user', mode: 0o644, source: { kind: 'value', object: 0, key: 'user' } },
          { path: 'password', mode: 0o644, source: { kind: 'value', object: 0, key: 'password' } },
        ],
        objects: [{ kind: 'Secret', namespace: 'team', name: 's', version: 'v-s' }],
        mountPoints: [],
      },
    });
  });

  test('may be limited to some of its keys, with other names and modes', () => {
    const items = [
      { key: 'user', path: 'who/name' },
      { key: 'password', path: 'p', mode: 0o400 },
      { key: 'user', path: 'again' },
    ];
    const step = stepOf({ secret: { secretName: 's', items, defaultMode: 0o440 } });
    expect(rights(step)).toEqual(['440 who/name', '400 p', '440 again']);
    expect(step.objects).toHaveLength(1);
  });

  test('can be read by the pod’s group', () => {
    const step = stepOf({ secret: { secretName: 's', defaultMode: 0o400 } }, { securityContext: { fsGroup: 7 } });
    expect(rights(step)).toEqual(['440 user', '440 password']);
    expect(step).toMatchObject({ gid: 7, folder: { options: [expect.anything(), 'mode=3777', 'gid=7'] } });
  });
});

test('a ConfigMap becomes files on disk, including its binary data', () => {
  const step = stepOf({ configMap: { name: 'c' } }, { securityContext: { fsGroup: 7 } });
  const path = '/k/pods/u1/volumes/kubernetes.io~configmap/v';
  expect(step.folder).toEqual({ kind: 'folder', path, mode: 0o2777, gid: 7 });
  expect(rights(step)).toEqual(['644 text', '644 blob']);
  expect(rights(stepOf({ configMap: { name: 'c', items: [{ key: 'blob', path: 'b' }] } }))).toEqual(['644 b']);
});

test.each<[string, Source, object]>([
  ['a missing Secret is refused', { secret: { secretName: 'absent' } }, { refusal: 'secret "absent" not found' }],
  ['a missing ConfigMap is refused', { configMap: { name: 'absent' } }, { refusal: 'configmap "absent" not found' }],
  [
    'an object that the API server refuses is refused, even if it is optional',
    { secret: { secretName: 'forbidden', optional: true } },
    { refusal: 'secrets "forbidden" is forbidden' },
  ],
  [
    'a missing key is refused',
    { secret: { secretName: 's', items: [{ key: 'no', path: 'x' }] } },
    { refusal: 'references non-existent secret key: no' },
  ],
  [
    'a missing key of a ConfigMap is refused',
    { configMap: { name: 'c', items: [{ key: 'no', path: 'x' }] } },
    { refusal: 'configmap references non-existent config key: no' },
  ],
  [
    'an object that has not been read is awaited',
    { secret: { secretName: 'new' } },
    { awaits: expect.stringContaining('secret "new"') },
  ],
  [
    'an optional object that has not been read is awaited',
    { configMap: { name: 'new', optional: true } },
    { awaits: expect.anything() },
  ],
  [
    'several missing objects are refused, each listed once',
    projected(
      { secret: { name: 'absent' } },
      { secret: { name: 'new' } },
      { secret: { name: 'absent' } },
      { configMap: { name: 'absent' } },
    ),
    { refusal: '[secret "absent" not found, configmap "absent" not found]' },
  ],
  [
    'an address, which is not known yet, is refused',
    { downwardAPI: { items: [{ path: 'ip', fieldRef: { fieldPath: 'status.podIP' } }] } },
    { refusal: 'unsupported fieldPath: status.podIP' },
  ],
  [
    'a missing container is refused',
    { downwardAPI: { items: [{ path: 'x', resourceFieldRef: { containerName: 'no', resource: 'limits.cpu' } }] } },
    { refusal: 'container no not found' },
  ],
  [
    'a pod certificate is refused',
    projected({ podCertificate: { signerName: 'e.org/x', keyType: 'ED25519', keyPath: 'k' } }),
    { refusal: 'this version of Kubus does not support pod certificates' },
  ],
])('%s', (_, source, expected) => {
  expect(planned(source)).toEqual({ name: 'v', ...expected });
});

test('missing optional objects and keys are omitted', () => {
  expect(stepOf({ secret: { secretName: 'absent', optional: true } }).files).toEqual([]);
  const items = ['no', 'text'].map((key) => ({ key, path: key }));
  expect(rights(stepOf({ configMap: { name: 'c', items, optional: true } }))).toEqual(['644 text']);
});

describe('a downward API volume', () => {
  const field = (fieldPath: string) => ({ downwardAPI: { items: [{ path: 'f', fieldRef: { fieldPath } }] } });
  const resource = (name: string, more = {}) => ({
    downwardAPI: { items: [{ path: 'f', resourceFieldRef: { containerName: 'main', resource: name, ...more } }] },
  });

  test.each([
    ['metadata.name', 'p'],
    ['metadata.labels', 'a="1"\nb="2"'],
    ["metadata.annotations['note']", 'x"y'],
  ])('contains the field %s', (path, text) => {
    expect(textOf(field(path))).toBe(text);
  });

  test('contains the limits of containers, by default the node’s allocatable resources', () => {
    const containers = [
      {
        name: 'main',
        resources: { limits: { memory: '64Mi' } },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      },
    ];
    expect(textOf(resource('limits.memory', { divisor: '1Mi' }), { containers })).toBe('64');
    expect(textOf(resource('limits.cpu'), { containers })).toBe('3');
    const unknown = planned(resource('limits.cpu'), { containers }, { allocatable: () => undefined });
    expect(unknown).toHaveProperty('awaits');
  });

  test('is in memory, with file modes', () => {
    const items = [
      { path: 'a/name', fieldRef: { fieldPath: 'metadata.name' } },
      { path: 'uid', fieldRef: { fieldPath: 'metadata.uid' }, mode: 0o400 },
    ];
    const step = stepOf({ downwardAPI: { items, defaultMode: 0o444 } });
    expect(rights(step)).toEqual(['444 a/name', '400 uid']);
    expect(step.folder).toMatchObject({ kind: 'memory', path: '/k/pods/u1/volumes/kubernetes.io~downward-api/v' });
  });
});

describe('a projected volume', () => {
  test('contains all of its sources in memory; the last one with the same path takes precedence', () => {
    const step = stepOf(
      projected(
        { secret: { name: 's', items: [{ key: 'user', path: 'x' }] } },
        { configMap: { name: 'c' } },
        { downwardAPI: { items: [{ path: 'x', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ),
    );
    expect(step.folder).toMatchObject({ kind: 'memory', path: '/k/pods/u1/volumes/kubernetes.io~projected/v' });
    expect(rights(step).sort()).toEqual(['644 blob', '644 text', '644 x']);
    expect(step.files.find(({ path }) => path === 'x')?.source).toEqual({ kind: 'text', text: 'p' });
    expect(step.objects).toEqual([expect.objectContaining({ name: 'c' })]);
  });

  const token = { serviceAccountToken: { path: 't', audience: 'vault', expirationSeconds: 600 } };

  test('contains tokens of the pod’s service account', () => {
    const { files, account } = stepOf(projected(token, { serviceAccountToken: { path: 'own' } }));
    expect(files.map(({ source }) => source)).toEqual([
      { kind: 'token', audiences: ['vault'], expirationSeconds: 600 },
      { kind: 'token', audiences: [] },
    ]);
    expect(account).toEqual({ namespace: 'team', name: 'robot', pod: { name: 'p', uid: 'u1' } });
    expect(stepOf(projected())).not.toHaveProperty('account');
  });

  const main = { name: 'main', volumeMounts: [{ name: 'v', mountPath: '/v' }] };
  test.each<[string, Partial<Pod['spec']>, string]>([
    ['without a user', {}, '644 t'],
    ['with one user', { securityContext: { runAsUser: 5 } }, '600 t 5'],
    ['with one user and a group', { securityContext: { runAsUser: 5, fsGroup: 7 } }, '640 t 5'],
    ['root', { securityContext: { runAsUser: 0 } }, '600 t 0'],
    ['with a group', { securityContext: { fsGroup: 7 } }, '640 t'],
    ['with one user of all containers', { containers: [{ ...main, securityContext: { runAsUser: 6 } }] }, '600 t 6'],
    [
      'with containers that have different users',
      { containers: [{ ...main, securityContext: { runAsUser: 6 } }], initContainers: [{ name: 'i' }] },
      '644 t',
    ],
    [
      'with containers that have the pod’s user, or another one',
      {
        securityContext: { runAsUser: 5 },
        containers: [{ ...main, securityContext: { runAsUser: 6 } }],
        initContainers: [{ name: 'i' }],
      },
      '644 t',
    ],
  ])('has the mode and owner of tokens in a pod %s', (_, spec, expected) => {
    expect(rights(stepOf(projected(token), spec))).toEqual([expected]);
  });
});

describe('trust anchors', () => {
  const of = (source: object): Source => projected({ clusterTrustBundle: { path: 'ca', ...source } });
  const signerName = 'e.org/x';

  test.each<[string, object, string]>([
    ['are one bundle by name, each certificate once', { name: 'root' }, pem('AAAA', 'BBBB')],
    ['are all of a signer', { signerName, labelSelector: {} }, pem('CCCC', 'DDDD')],
    ['are selected by labels', { signerName, labelSelector: { matchLabels: { v: '1' } } }, pem('CCCC')],
    [
      'are selected by expressions',
      {
        signerName,
        labelSelector: {
          matchExpressions: [
            { key: 'v', operator: 'NotIn', values: ['1'] },
            { key: 'live', operator: 'In', values: ['no', 'yes'] },
            { key: 'v', operator: 'Exists' },
            { key: 'w', operator: 'DoesNotExist' },
          ],
        },
      },
      pem('CCCC', 'DDDD'),
    ],
    ['are empty for a missing optional name', { name: 'no', optional: true }, ''],
    [
      'are empty for an optional signer without bundles',
      { signerName: 'e.org/z', labelSelector: {}, optional: true },
      '',
    ],
  ])('%s', (_, source, text) => {
    expect(textOf(of(source))).toBe(text);
  });

  test('have lines of 64 characters', () => {
    const trustBundle = pem('F'.repeat(70) + '==');
    const long = { trustBundles: () => [{ name: 'l', labels: {}, trustBundle }] };
    expect(textOf(of({ name: 'l' }), {}, long)).toBe(pem(`${'F'.repeat(64)}\n${'F'.repeat(6)}==`));
  });

  const none = { refusal: 'combination of signerName and labelSelector matched zero ClusterTrustBundles' };
  const notIn = (operator: string) => ({ matchExpressions: [{ key: 'v', operator, values: ['2', '1'] }] });
  test.each<[string, object, object]>([
    [
      'a missing bundle',
      { name: 'no' },
      { refusal: 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "no" not found' },
    ],
    ['a signer without a selector', { signerName }, none],
    ['a signer without a matching bundle', { signerName, labelSelector: notIn('NotIn') }, none],
    [
      'an invalid selector',
      { signerName, labelSelector: notIn('Near') },
      { refusal: 'while parsing label selector: "Near" is not a valid label selector operator' },
    ],
    [
      'neither name nor signer',
      {},
      { refusal: 'ClusterTrustBundle projection requires either name or signerName to be set' },
    ],
  ])('are refused for %s', (_, source, expected) => {
    expect(planned(of(source))).toEqual({ name: 'v', ...expected });
  });

  test('are awaited until all bundles have been read', () => {
    expect(planned(of({ name: 'root' }), {}, { trustBundles: () => undefined })).toHaveProperty('awaits');
  });

  test('are files owned by the pod’s user', () => {
    const spec = { securityContext: { runAsUser: 5, fsGroup: 7 } };
    expect(rights(stepOf(of({ name: 'root' }), spec))).toEqual(['640 ca 5']);
  });
});

describe('other mounts in a volume', () => {
  const at = (...paths: string[]) => [
    {
      name: 'main',
      volumeMounts: paths.map((mountPath, index) => ({ name: index === 0 ? 'v' : 'other', mountPath })),
    },
  ];
  const source: Source = { configMap: { name: 'c' } };

  test.each<[string[], string[]]>([
    [
      ['/dir', '/dir/nested', '/dir/nested/other', '/dir/nested-too', '/directory', '/else'],
      ['nested', 'nested-too'],
    ],
    [['/dir/', '//dir/./a/../b/'], ['b']],
    [['/dir', '/dir/../x', '/dir/..'], []],
    [['dir', 'dir/in/side'], ['in/side']],
  ])('%j have the mount points %j', (paths, expected) => {
    expect(stepOf(source, { containers: at(...paths) }).mountPoints).toEqual(expected);
  });

  test('must not lead out of the container', () => {
    expect(planned(source, { containers: at('a/../../etc') })).toEqual({
      name: 'v',
      refusal: 'invalid container mount point ../etc',
    });
  });
});
