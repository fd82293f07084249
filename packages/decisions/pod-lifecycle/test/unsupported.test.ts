import { expect, test } from '@jest/globals';
import type { PodSpec } from '@kubus/contracts';
import { unsupportedFields } from '../src/index.ts';

const handler = { exec: { command: ['true'] } };
const all = {
  name: 'all',
  livenessProbe: handler,
  readinessProbe: handler,
  startupProbe: handler,
  lifecycle: { preStop: handler },
  env: [
    { name: 'TEXT', value: 'x' },
    { name: 'FIELD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'RESOURCE', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    { name: 'CONFIG', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
    { name: 'SECRET', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
  ],
  envFrom: [{ configMapRef: { name: 'c' } }, { secretRef: { name: 's' } }],
  volumeMounts: [
    { name: 'data', mountPath: '/data', subPath: 'a' },
    { name: 'data', mountPath: '/other', subPathExpr: '$(A)' },
  ],
  volumeDevices: [{ name: 'block', devicePath: '/dev/v' }],
};

test('a pod with only supported fields has no unsupported ones', () => {
  const spec: PodSpec = {
    containers: [all],
    initContainers: [{ ...all, restartPolicy: 'Always' }],
    ephemeralContainers: [{ name: 'look', targetContainerName: 'all' }],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'host', hostPath: { path: '/srv' } },
      { name: 'secret', secret: { secretName: 's' } },
      { name: 'config', configMap: { name: 'c' } },
      { name: 'self', downwardAPI: {} },
      { name: 'all', projected: {} },
      { name: 'claim', persistentVolumeClaim: { claimName: 'c' } },
      { name: 'own', ephemeral: {} },
      { name: 'driver', csi: { driver: 'd' } },
      { name: 'nfs', nfs: { server: 's', path: '/' } },
    ],
    activeDeadlineSeconds: 5,
    runtimeClassName: 'runc',
    imagePullSecrets: [{ name: 's' }],
    resourceClaims: [{ name: 'gpu', resourceClaimName: 'g' }],
  };
  expect(unsupportedFields({ spec })).toEqual([]);
});

test.each<[string, Partial<PodSpec>]>([
  [
    'spec.volumes[1].gitRepo',
    {
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', gitRepo: { repository: 'r' } },
      ],
    },
  ],
])('%s is listed as unsupported', (field, spec) => {
  expect(unsupportedFields({ spec: { containers: [{ name: 'c' }], ...spec } })).toEqual([field]);
});
