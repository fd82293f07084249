import { describe, expect, test } from '@jest/globals';
import type { PodSpec, Volume } from '@kubus/contracts';
import { apiReferences } from './api-references.ts';

function refused(spec: Partial<PodSpec>): string[] {
  const metadata = { name: 'p', namespace: 'n', uid: 'u' };
  const pod = { metadata, spec: { containers: [{ name: 'c' }], ...spec } };
  return apiReferences(pod).map(({ path, message }) => `${path.toString()} ${message}`);
}

const refusal = (path: string, what: string) => `${path} Forbidden: static pods may not reference ${what}`;

describe('a static pod may not reference', () => {
  test.each<readonly [Partial<PodSpec>, string, string]>([
    [{ serviceAccountName: 'a' }, 'spec.serviceAccountName', 'serviceaccounts'],
    [{ imagePullSecrets: [{ name: 's' }] }, 'spec.imagePullSecrets[0]', 'secrets'],
    [{ resourceClaims: [{ name: 'r' }] }, 'spec.resourceClaims[0]', 'resourceclaims'],
    [
      { initContainers: [{ name: 'i', envFrom: [{ configMapRef: {} }] }] },
      'spec.initContainers[0].envFrom[0].configMapRef',
      'configmaps',
    ],
    [
      { containers: [{ name: 'c', envFrom: [{ secretRef: {} }] }] },
      'spec.containers[0].envFrom[0].secretRef',
      'secrets',
    ],
    [
      { containers: [{ name: 'c', env: [{ name: 'A', valueFrom: { secretKeyRef: { key: 'k' } } }] }] },
      'spec.containers[0].env[0].valueFrom.secretKeyRef',
      'secrets',
    ],
    [
      { containers: [{ name: 'c', env: [{ name: 'A', valueFrom: { configMapKeyRef: { key: 'k' } } }] }] },
      'spec.containers[0].env[0].valueFrom.configMapKeyRef',
      'configmaps',
    ],
  ])('an object of the API: %j', (spec, path, what) => expect(refused(spec)).toEqual([refusal(path, what)]));

  test.each<readonly [Partial<Volume>, string, string]>([
    [{ configMap: {} }, 'configMap', 'configmaps (via configmap volumes)'],
    [{ secret: {} }, 'secret', 'secrets (via secret volumes)'],
    [{ csi: { driver: 'd' } }, 'csi', 'csidrivers (via CSI volumes)'],
    [{ glusterfs: { endpoints: 'e', path: 'p' } }, 'glusterfs', 'endpoints (via glusterFS volumes)'],
    [{ persistentVolumeClaim: { claimName: 'c' } }, 'persistentVolumeClaim', 'persistentvolumeclaims'],
    [{ ephemeral: {} }, 'ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
    [{ azureFile: { secretName: 's', shareName: 'x' } }, 'azureFile', 'secrets (via azureFile volumes)'],
    [{ iscsi: { targetPortal: 'p', iqn: 'i', lun: 0, secretRef: {} } }, 'iscsi.secretRef', 'secrets'],
    [
      { projected: { sources: [{}, { configMap: {} }] } },
      'projected.sources[1].configMap',
      'configmaps (via projected volumes)',
    ],
    [{ projected: { sources: [{ secret: {} }] } }, 'projected.sources[0].secret', 'secrets (via projected volumes)'],
    [
      { projected: { sources: [{ serviceAccountToken: { path: 'p' } }] } },
      'projected.sources[0].serviceAccountToken',
      'serviceaccounts (via projected volumes)',
    ],
    [
      { projected: { sources: [{ clusterTrustBundle: { path: 'p' } }] } },
      'projected.sources[0].clusterTrustBundle',
      'clustertrustbundles',
    ],
  ])('an object of the API by the volume %j', (volume, path, what) => {
    expect(refused({ volumes: [{ name: 'v', ...volume }] })).toEqual([refusal(`spec.volumes[0].${path}`, what)]);
  });

  test('but may use volumes of the node itself', () => {
    const volumes: Volume[] = [
      { name: 'a', emptyDir: {} },
      { name: 'b', hostPath: { path: '/' } },
      { name: 'c', downwardAPI: {} },
      { name: 'd', projected: { sources: [{ downwardAPI: {} }] } },
      { name: 'e', image: { reference: 'i' } },
      { name: 'f', nfs: { server: 's', path: '/' } },
      { name: 'g', iscsi: { targetPortal: 'p', iqn: 'i', lun: 0 } },
    ];
    const env = [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    expect(refused({ volumes, containers: [{ name: 'c', env }] })).toEqual([]);
  });
});
