import type { Pod, PodSpec } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import { defaultPullPolicy } from './default-values.ts';
import { defaultPod } from './defaults.ts';

function defaulted(spec: Partial<PodSpec>): PodSpec {
  const metadata = { name: 'p', namespace: 'n', uid: 'u' };
  const pod: Pod = { metadata, spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec } };
  const { spec: result } = defaultPod(pod);
  // A pod that has its defaults is not changed by setting them again.
  expect(defaultPod({ metadata, spec: result }).spec).toEqual(result);
  return result;
}

describe('defaultPod', () => {
  test('sets all defaults of a minimal pod', () => {
    expect(defaulted({})).toEqual({
      containers: [
        {
          name: 'c',
          image: 'i:1',
          imagePullPolicy: 'IfNotPresent',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      enableServiceLinks: true,
    });
  });

  test('keeps fields that are set, even to zero and false', () => {
    const set = {
      restartPolicy: 'Never',
      dnsPolicy: 'Default',
      schedulerName: 's',
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsUser: 1 },
      enableServiceLinks: false,
    };
    expect(defaulted(set)).toMatchObject(set);
  });

  test.each([
    [{ serviceAccount: 'a' }, { serviceAccountName: 'a', serviceAccount: 'a' }],
    [{ serviceAccountName: 'b' }, { serviceAccountName: 'b', serviceAccount: 'b' }],
  ])('sets both names of the service account: %j', (given, expected) =>
    expect(defaulted(given)).toMatchObject(expected),
  );

  test('sets defaults of ports, and host ports with the host network', () => {
    const containers = [
      { name: 'c', ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 8081, protocol: 'UDP' }] },
    ];
    expect(defaulted({ containers }).containers[0]?.ports).toEqual([
      { containerPort: 80, protocol: 'TCP' },
      { containerPort: 81, hostPort: 8081, protocol: 'UDP' },
    ]);
    expect(defaulted({ containers, initContainers: containers, hostNetwork: true })).toMatchObject({
      containers: [{ ports: [{ hostPort: 80 }, { hostPort: 8081 }] }],
      initContainers: [{ ports: [{ hostPort: 80 }, { hostPort: 8081 }] }],
    });
  });

  test('sets defaults of probes and hooks', () => {
    const containers = [
      {
        name: 'c',
        livenessProbe: { httpGet: { port: 80 }, timeoutSeconds: 0, failureThreshold: 1 },
        startupProbe: { grpc: { port: 1 } },
        lifecycle: { preStop: { httpGet: { port: 80, scheme: 'HTTPS' } } },
      },
    ];
    expect(defaulted({ containers }).containers[0]).toMatchObject({
      livenessProbe: {
        httpGet: { port: 80, path: '/', scheme: 'HTTP' },
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 1,
      },
      startupProbe: { grpc: { port: 1, service: '' } },
      lifecycle: { preStop: { httpGet: { port: 80, path: '/', scheme: 'HTTPS' } } },
    });
  });

  test('sets defaults of the environment', () => {
    const env = [
      { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'B', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } },
      { name: 'C', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1000m' } } },
    ];
    expect(defaulted({ containers: [{ name: 'c', env }] }).containers[0]?.env).toEqual([
      { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } } },
      { name: 'B', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k', optional: false } } },
      { name: 'C', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1' } } },
    ]);
  });

  test.each([
    [{}, { emptyDir: {} }],
    [{ emptyDir: { sizeLimit: '1024Ki' } }, { emptyDir: { sizeLimit: '1Mi' } }],
    [{ hostPath: { path: '/x' } }, { hostPath: { path: '/x', type: '' } }],
    [{ secret: { secretName: 's' } }, { secret: { secretName: 's', defaultMode: 0o644 } }],
    [{ configMap: { name: 'c', defaultMode: 0 } }, { configMap: { name: 'c', defaultMode: 0 } }],
    [
      { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
      {
        downwardAPI: {
          defaultMode: 0o644,
          items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } }],
        },
      },
    ],
    [
      {
        projected: {
          sources: [
            { serviceAccountToken: { path: 't' } },
            { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
            { podCertificate: { signerName: 's', keyType: 'ED25519' } },
          ],
        },
      },
      {
        projected: {
          defaultMode: 0o644,
          sources: [
            { serviceAccountToken: { path: 't', expirationSeconds: 3600 } },
            { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } }] } },
            { podCertificate: { signerName: 's', keyType: 'ED25519', maxExpirationSeconds: 86400 } },
          ],
        },
      },
    ],
    [
      { ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Filesystem' } } } },
    ],
    [{ image: { reference: 'a:latest' } }, { image: { reference: 'a:latest', pullPolicy: 'Always' } }],
    [
      { iscsi: { targetPortal: 'p', iqn: 'i', lun: 0 } },
      { iscsi: { targetPortal: 'p', iqn: 'i', lun: 0, iscsiInterface: 'default' } },
    ],
    [
      { rbd: { monitors: ['m'], image: 'i' } },
      { rbd: { monitors: ['m'], image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
    ],
  ])('sets defaults of the volume %j', (volume, expected) => {
    expect(defaulted({ volumes: [{ name: 'v', ...volume }] }).volumes).toEqual([{ name: 'v', ...expected }]);
  });

  test('sets requests from limits, in canonical form and rounded to a thousandth', () => {
    const resources = { limits: { cpu: '0.5', memory: '1024Mi' }, requests: { cpu: '100.1m' } };
    expect(defaulted({ containers: [{ name: 'c', resources }] }).containers[0]?.resources).toEqual({
      limits: { cpu: '500m', memory: '1Gi' },
      requests: { cpu: '101m', memory: '1Gi' },
    });
  });
});

describe('pod-level resources', () => {
  const containers = [
    { name: 'c', resources: { requests: { cpu: '1' }, limits: { cpu: '2', 'hugepages-2Mi': '4Mi' } } },
  ];
  const initContainers = [
    { name: 's', restartPolicy: 'Always', resources: { requests: { cpu: '500m' } } },
    { name: 'i', resources: { requests: { cpu: '2' } } },
  ];
  test.each([
    ['none', undefined, undefined],
    ['empty', {}, {}],
    [
      'get requests from the containers first, and otherwise from the limits',
      { limits: { cpu: '4', memory: '1Gi' } },
      {
        limits: { cpu: '4', memory: '1Gi', 'hugepages-2Mi': '4Mi' },
        // The init container with the sidecar before it needs more than the container with the sidecar.
        requests: { cpu: '2500m', memory: '1Gi', 'hugepages-2Mi': '4Mi' },
      },
    ],
    [
      'requests',
      { requests: { cpu: '3' } },
      { requests: { cpu: '3', 'hugepages-2Mi': '4Mi' }, limits: { 'hugepages-2Mi': '4Mi' } },
    ],
  ])('with %s', (_, resources, expected) => {
    expect(defaulted({ containers, initContainers, ...(resources && { resources }) }).resources).toEqual(expected);
  });
});

test.each([
  ['busybox', 'Always'],
  ['busybox:latest', 'Always'],
  ['busybox:1.35', 'IfNotPresent'],
  ['localhost:5000/a', 'Always'],
  [`a@sha256:${'0'.repeat(64)}`, 'IfNotPresent'],
  [`a:latest@sha256:${'0'.repeat(64)}`, 'Always'],
  ['Not A Valid//Name', 'IfNotPresent'],
])('the pull policy of %s is %s', (image, policy) => expect(defaultPullPolicy(image)).toBe(policy));
