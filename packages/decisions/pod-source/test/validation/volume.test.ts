import { describe, expect, test } from '@jest/globals';
import { dnsLabelRule, dnsSubdomainRule, errorsOf } from './errors-of.ts';

const at = 'spec.volumes[0]';
const MODE = 'must be a number between 0 and 0777 (octal), both inclusive';
type Row = readonly [title: string, volume: object, errors: readonly string[]];

/** Without the errors about what static pods must not have, which have their own test. */
function volumeErrors(volume: object): string[] {
  const spec = { volumes: [{ name: 'v', ...volume }] };
  return errorsOf({ spec }).filter((error) => !error.includes('static pods may not reference'));
}

describe('validation of a volume', () => {
  test.each<Row>([
    ['empty', {}, []],
    ['without a name', { name: '' }, [`${at}.name: Required value`]],
    ['with an invalid name', { name: 'a.b' }, [`${at}.name: Invalid value: "a.b": ${dnsLabelRule}`]],
    [
      'of two kinds',
      { emptyDir: {}, hostPath: { path: '/x' } },
      [`${at}.emptyDir: Forbidden: may not specify more than 1 volume type`],
    ],
    [
      'emptyDir with sizes',
      { emptyDir: { sizeLimit: '-1' } },
      [`${at}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`],
    ],
    [
      'emptyDir with an invalid size',
      { emptyDir: { sizeLimit: '1 GB' } },
      [
        `${at}.emptyDir.sizeLimit: Invalid value: "1 GB": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
      ],
    ],
    ['hostPath without a path', { hostPath: {} }, [`${at}.hostPath.path: Required value`]],
    [
      'hostPath with `..` in its path and an unknown type',
      { hostPath: { path: '/a/../b', type: 'Link' } },
      [
        `${at}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
        `${at}.hostPath.type: Unsupported value: "Link": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
      ],
    ],
    ['image', { image: {} }, [`${at}.image.reference: Required value`]],
    [
      'secret',
      { secret: { defaultMode: 0o1000, items: [{ key: 'k', path: '/x' }, { path: '..x' }] } },
      [
        `${at}.secret.secretName: Required value`,
        `${at}.secret.defaultMode: Invalid value: 512: ${MODE}`,
        `${at}.secret.items[0].path: Invalid value: "/x": must be a relative path`,
        `${at}.secret.items[1].key: Required value`,
        `${at}.secret.items[1].path: Invalid value: "..x": must not start with '..'`,
      ],
    ],
    [
      'configMap',
      { configMap: { items: [{ key: 'k', mode: -1 }] } },
      [
        `${at}.configMap.name: Required value`,
        `${at}.configMap.items[0].path: Required value`,
        `${at}.configMap.items[0].mode: Invalid value: -1: ${MODE}`,
      ],
    ],
    [
      'downwardAPI',
      {
        downwardAPI: {
          items: [
            { path: 'ok', fieldRef: { fieldPath: 'metadata.labels' } },
            { path: 'none' },
            { path: 'host', fieldRef: { fieldPath: 'spec.nodeName' } },
            { path: 'cpu', resourceFieldRef: { resource: 'limits.cpu' } },
          ],
        },
      },
      [
        `${at}.downwardAPI.items[1]: Required value: one of fieldRef and resourceFieldRef is required`,
        `${at}.downwardAPI.items[2].fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"`,
        `${at}.downwardAPI.items[3].resourceFieldRef.containerName: Required value`,
      ],
    ],
    ['persistentVolumeClaim', { persistentVolumeClaim: {} }, [`${at}.persistentVolumeClaim.claimName: Required value`]],
    [
      'csi',
      { csi: { driver: 'a_b', nodePublishSecretRef: {} } },
      [
        `${at}.csi.driver: Invalid value: "a_b": ${dnsSubdomainRule}`,
        `${at}.csi.nodePublishSecretRef.name: Required value`,
      ],
    ],
    [
      'ephemeral',
      { ephemeral: { volumeClaimTemplate: { metadata: { name: 'x' }, spec: { accessModes: ['Any'] } } } },
      [
        `${at}.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set`,
        `${at}.ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: "Any": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
        `${at}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value`,
      ],
    ],
  ])('reports the errors: %s', (_, volume, errors) => expect(volumeErrors(volume)).toEqual(errors));

  test('reports duplicate names, and a claim that the pod itself creates', () => {
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const volumes = [
      { name: 'a', ephemeral: { volumeClaimTemplate: { spec: claim } } },
      { name: 'b' },
      { name: 'b' },
      { name: 'c', persistentVolumeClaim: { claimName: 'p-n1-a' } },
    ];
    expect(errorsOf({ spec: { volumes } }).filter((error) => !error.includes('Forbidden'))).toEqual([
      'spec.volumes[2].name: Duplicate value: "b"',
      'spec.volumes[3].persistentVolumeClaim.claimName: Invalid value: "p-n1-a": must not reference a PVC that gets created for an ephemeral volume',
    ]);
  });
});

describe('validation of projected volumes', () => {
  const sources = `${at}.projected.sources`;
  test.each<Row>([
    [
      'two kinds in one source',
      { projected: { sources: [{ secret: { name: 's' }, configMap: { name: 'c' } }] } },
      [`${sources}[0]: Forbidden: may not specify more than 1 volume type per source`],
    ],
    [
      'the same path twice',
      {
        projected: {
          sources: [
            { configMap: { name: 'c', items: [{ key: 'a', path: 'x' }] } },
            { downwardAPI: { items: [{ path: 'x', fieldRef: { fieldPath: 'metadata.name' } }] } },
          ],
        },
      },
      [`${sources}[1]: Invalid value: "x": conflicting duplicate paths`],
    ],
    [
      'token',
      { projected: { sources: [{ serviceAccountToken: { expirationSeconds: 1 } }] } },
      [
        `${sources}[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes`,
        `${sources}[0].serviceAccountToken.path: Required value`,
        `${sources}[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
      ],
    ],
    [
      'trust bundles',
      {
        projected: {
          sources: [
            { clusterTrustBundle: { path: 'a' } },
            { clusterTrustBundle: { path: 'b', name: 'n', signerName: 'x/y' } },
            { clusterTrustBundle: { path: 'c', signerName: 'x' } },
          ],
        },
      },
      [
        `${sources}[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
        `${sources}[1].clusterTrustBundle: Invalid value: "n": only one of name and signerName may be used`,
        `${sources}[2].clusterTrustBundle.signerName: Invalid value: "x": must be a fully qualified domain and path of the form "example.com/signer-name"`,
      ],
    ],
    [
      'certificate',
      { projected: { sources: [{ podCertificate: { signerName: 'x/y', keyType: 'RSA1' } }] } },
      [
        `${sources}[0].podCertificate.keyType: Unsupported value: "RSA1": supported values: "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"`,
        `${sources}[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath and certificateChainPath`,
      ],
    ],
  ])('reports the errors: %s', (_, volume, errors) => expect(volumeErrors(volume)).toEqual(errors));
});

describe('validation of remote volumes', () => {
  test.each<Row>([
    ['nfs', { nfs: { server: 's', path: 'x' } }, [`${at}.nfs.path: Invalid value: "x": must be an absolute path`]],
    [
      'gitRepo',
      { gitRepo: { directory: '/x' } },
      [
        `${at}.gitRepo.repository: Required value`,
        `${at}.gitRepo.directory: Invalid value: "/x": must be a relative path`,
      ],
    ],
    ['rbd', { rbd: { image: 'i' } }, [`${at}.rbd.monitors: Required value`]],
    ['flocker', { flocker: {} }, [`${at}.flocker: Required value: one of datasetName and datasetUUID is required`]],
    [
      'iscsi',
      { iscsi: { targetPortal: 'p', iqn: 'x', lun: 256, chapAuthSession: true } },
      [
        `${at}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
        `${at}.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive`,
        `${at}.iscsi.secretRef: Required value`,
      ],
    ],
    ['a valid iscsi', { iscsi: { targetPortal: 'p', iqn: 'iqn.2001-04.com.example:storage', lun: 0 } }, []],
    [
      'fc',
      { fc: { targetWWNs: ['a'], wwids: ['b'] } },
      [
        `${at}.fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously`,
        `${at}.fc.lun: Required value: lun is required if targetWWNs is specified`,
      ],
    ],
  ])('reports the errors: %s', (_, volume, errors) => expect(volumeErrors(volume)).toEqual(errors));
});

describe('validation of a mount', () => {
  const mount = 'spec.containers[0].volumeMounts[0]';
  const device = 'spec.containers[0].volumeDevices[0]';
  const m = (more: object) => ({ volumeMounts: [{ name: 'v', mountPath: '/m', ...more }] });
  test.each<Row>([
    ['sound', m({ subPath: 'a/b', mountPropagation: 'HostToContainer' }), []],
    ['of a missing volume', m({ name: 'w' }), [`${mount}.name: Not found: "w"`]],
    ['without a path', m({ mountPath: '' }), [`${mount}.mountPath: Required value`]],
    [
      'at a path that is used twice',
      {
        volumeMounts: [
          { name: 'v', mountPath: '/m' },
          { name: 'v', mountPath: '/m' },
        ],
      },
      ['spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/m": must be unique'],
    ],
    [
      'sub-paths',
      m({ subPath: '/a', subPathExpr: '../b' }),
      [
        `${mount}.subPath: Invalid value: "/a": must be a relative path`,
        `${mount}.subPathExpr: Invalid value: "../b": must not contain '..'`,
        `${mount}.subPathExpr: Invalid value: "../b": subPathExpr and subPath are mutually exclusive`,
      ],
    ],
    [
      'with Bidirectional propagation',
      m({ mountPropagation: 'Bidirectional' }),
      [
        `${mount}.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
      ],
    ],
    [
      'with Bidirectional propagation in a privileged container',
      { ...m({ mountPropagation: 'Bidirectional' }), securityContext: { privileged: true } },
      [],
    ],
    [
      'with recursive read-only but not read-only',
      m({ recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' }),
      [
        `${mount}.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
        `${mount}.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified`,
      ],
    ],
    [
      'devices',
      { ...m({}), volumeDevices: [{ name: 'v', devicePath: '/m' }] },
      [
        `${mount}.name: Invalid value: "v": must not already exist in volumeDevices`,
        `${mount}.mountPath: Invalid value: "/m": must not already exist as a path in volumeDevices`,
        `${device}.name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
        `${device}.name: Invalid value: "v": must not already exist in volumeMounts`,
        `${device}.devicePath: Invalid value: "/m": must not already exist as a path in volumeMounts`,
      ],
    ],
  ])('reports the errors: %s', (_, container, errors) => {
    const containers = [{ name: 'c', image: 'i', ...container }];
    expect(errorsOf({ spec: { volumes: [{ name: 'v' }], containers } })).toEqual(errors);
  });
});
