import { describe, expect, test } from '@jest/globals';
import type { Pod, PodWork } from '@kubus/contracts';
import fc from 'fast-check';
import { References, demandOf, isExpired, refreshAt } from '../../src/index.ts';

describe('what a pod needs', () => {
  const spec = {
    serviceAccountName: 'robot',
    imagePullSecrets: [{ name: 'pull' }],
    containers: [
      {
        name: 'main',
        envFrom: [{ secretRef: { name: 'all' } }],
        env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'a' } } }],
      },
    ],
    volumes: [
      { name: 'a', secret: { secretName: 'all' } },
      { name: 'b', configMap: { name: 'files' } },
      { name: 'c', projected: { sources: [{ secret: { name: 'part' } }, { serviceAccountToken: { path: 't' } }] } },
      { name: 'd', emptyDir: {} },
    ],
  };
  const pod = (change: object = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'team', name: 'web', uid: 'u' },
    spec: { ...spec, ...change },
  });
  const needs = (change: Partial<PodWork>) => {
    const { objects, claims, ...rest } = demandOf({ pod: pod(), source: 'api', work: 'sync', ...change });
    return { objects: [...objects.keys()].sort(), claims: [...claims.keys()], ...rest };
  };

  const objects = [
    'ConfigMap/team/files',
    'ConfigMap/team/settings',
    'Secret/team/all',
    'Secret/team/part',
    'Secret/team/pull',
  ];
  const holder = { namespace: 'team', name: 'web', uid: 'u', serviceAccount: 'robot' };
  const volumes = { claims: [], csi: false, trustBundles: false };
  const all = { objects, ...volumes, serviceNamespaces: ['default', 'team'], holder };
  const nothing = { objects: [], ...volumes, serviceNamespaces: [], holder: undefined };

  const using = (volume: object) => ({
    ...{ volumes: [{ name: 'v', ...volume }], imagePullSecrets: [] },
    containers: [{ name: 'main', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
  });
  const bare = { ...all, objects: [] };

  test.each<[string, Partial<PodWork>, object]>([
    ['includes what its containers and volumes refer to', {}, all],
    ['is kept until nothing of the pod is left', { work: 'kill' }, all],
    [
      'includes trust bundles if a volume contains any',
      { pod: pod({ volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 'ca' } }] } }] }) },
      { ...all, objects: objects.filter((key) => !/files|part/.test(key)), trustBundles: true },
    ],
    ['is nothing if the node does not admit the pod', { work: 'reject' }, nothing],
    ['is nothing if only the runtime has the pod', { pod: undefined, source: 'runtime', work: 'kill' }, nothing],
    [
      'includes no objects for a static pod',
      { source: 'file' },
      { ...nothing, serviceNamespaces: ['default', 'team'] },
    ],
    [
      'includes only the API server’s service without service links, and no token without an account',
      { pod: pod({ enableServiceLinks: false, serviceAccountName: '' }) },
      { objects, ...volumes, serviceNamespaces: ['default'], holder: undefined },
    ],
    [
      'includes the claims that its containers use, and their possible drivers',
      { pod: pod(using({ persistentVolumeClaim: { claimName: 'data' } })) },
      { ...bare, claims: ['team/data'], csi: true },
    ],
    [
      'includes a claim that is created for it',
      { pod: pod(using({ ephemeral: {} })) },
      { ...bare, claims: ['team/web-v'], csi: true },
    ],
    [
      'includes the drivers if one of them creates a volume',
      { pod: pod(using({ csi: { driver: 'd' } })) },
      { ...bare, csi: true },
    ],
  ])('%s', (_what, change, expected) => expect(needs(change)).toEqual(expected));
});

test('references report an object when the first holder is added and when the last one is removed', () => {
  const step = fc.record({
    holder: fc.constantFrom('a', 'b', 'c'),
    keys: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const references = new References<string>();
      const model = new Map<string, readonly string[]>();
      for (const { holder, keys } of steps) {
        const before = new Set([...model.values()].flat());
        model.set(holder, keys);
        const after = new Set([...model.values()].flat());
        const { added, dropped } = references.set(holder, new Map(keys.map((key) => [key, key])));
        expect([...added.keys()].sort()).toEqual([...after].filter((key) => !before.has(key)).sort());
        expect([...dropped].sort()).toEqual([...before].filter((key) => !after.has(key)).sort());
        expect([...references.keys()].sort()).toEqual([...after].sort());
      }
    }),
  );
});

describe('a token', () => {
  const HOUR = 3_600_000;

  test.each([
    ['when a fifth of its lifetime is left', 1, 0, 0.8],
    ['up to ten seconds before that', 1, 0.5, 0.8 - 5 / 3600],
    ['when it is a day old', 240, 0, 24],
    ['when a fifth is left of a lifetime of 30 hours', 30, 0, 24],
  ])('is renewed %s', (_what, hours, fraction, expected) => {
    const at = refreshAt({ expiresAt: hours * HOUR, lifeMs: hours * HOUR }, fraction);
    expect(at).toBeCloseTo(expected * HOUR);
  });

  test('is valid until it expires', () => {
    expect([isExpired({ expiresAt: 5 }, 4), isExpired({ expiresAt: 5 }, 5)]).toEqual([false, true]);
  });
});
