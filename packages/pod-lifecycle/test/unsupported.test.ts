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
  volumeMounts: [{ name: 'data', mountPath: '/data', subPath: '' }],
};

test('a pod of what this version does asks for nothing else', () => {
  const spec: PodSpec = {
    containers: [all],
    initContainers: [{ ...all, restartPolicy: 'Always' }],
    ephemeralContainers: [{ name: 'look', targetContainerName: 'all' }],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'host', hostPath: { path: '/srv' } },
    ],
    activeDeadlineSeconds: 5,
    runtimeClassName: 'runc',
    imagePullSecrets: [{ name: 's' }],
  };
  expect(unsupportedFields({ spec })).toEqual([]);
});

test.each<[string, Partial<PodSpec>]>([
  [
    'spec.volumes[1].secret',
    {
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', secret: { secretName: 's' } },
      ],
    },
  ],
  ['spec.resourceClaims', { resourceClaims: [{ name: 'gpu' }] }],
  [
    'spec.containers[0].volumeMounts[0].subPath',
    { containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a' }] }] },
  ],
  [
    'spec.containers[0].volumeMounts[0].subPathExpr',
    { containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(A)' }] }] },
  ],
  [
    'spec.ephemeralContainers[0].volumeDevices',
    { ephemeralContainers: [{ name: 'e', volumeDevices: [{ name: 'v', devicePath: '/dev/v' }] }] },
  ],
])('%s is named', (field, spec) => {
  expect(unsupportedFields({ spec: { containers: [{ name: 'c' }], ...spec } })).toEqual([field]);
});
