import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { decodeManifest, defaultPod, readManifest, validatePod } from '../src/index.ts';

const folder = new URL('scenarios/', import.meta.url);
const scenarios = readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')] as const);

/** Fields of the scenarios that require the API server. */
const references: Readonly<Record<string, readonly string[]>> = {
  'config-key-missing.yaml': ['spec.containers[0].env[0].valueFrom.configMapKeyRef'],
  'env-downward-expansion.yaml': [
    'spec.containers[0].env[9].valueFrom.configMapKeyRef',
    'spec.containers[0].env[10].valueFrom.secretKeyRef',
    'spec.containers[0].envFrom[0].configMapRef',
    'spec.containers[0].envFrom[1].secretRef',
  ],
  'projected-token.yaml': ['spec.serviceAccountName', 'spec.volumes[0].projected.sources[0].serviceAccountToken'],
  'volume-missing-secret.yaml': ['spec.volumes[0].secret'],
  'volumes.yaml': [
    'spec.volumes[3].configMap',
    'spec.volumes[4].secret',
    'spec.volumes[6].projected.sources[0].configMap',
    'spec.volumes[6].projected.sources[1].secret',
  ],
};

describe('every scenario', () => {
  test('is found', () => expect(scenarios.length).toBeGreaterThanOrEqual(30));

  test.each(scenarios)('%s is decoded, gets its defaults and is valid', (_, text) => {
    const { pods, errors, warnings } = decodeManifest(text);
    expect(pods).toHaveLength(1);
    // The objects to which some pods refer are in the same file.
    expect(errors.filter((error) => error.field !== 'kind')).toEqual([]);
    expect(warnings).toEqual([]);
    for (const { pod } of pods) {
      const placed = { ...pod, metadata: { ...pod.metadata, namespace: 'default', uid: 'u' } };
      expect(validatePod(defaultPod(placed))).toEqual([]);
    }
  });

  test.each(scenarios)('%s is a static pod unless it needs the API server', (name, text) => {
    const origin = { path: `/m/${name}`, node: 'node0', source: 'file', seenAt: '2026-01-01T00:00:00Z' } as const;
    const { pods, errors } = readManifest({ ...origin, text });
    const refused = errors.filter((error) => error.field !== 'kind');
    expect(refused.map((error) => error.field)).toEqual(references[name] ?? []);
    expect(pods).toHaveLength(refused.length === 0 ? 1 : 0);
  });
});

test('the defaults are those of the API server', () => {
  const text = readFileSync(new URL('api-server-defaults.json', import.meta.url), 'utf8');
  const sample = JSON.parse(text) as { manifest: unknown; spec: Record<string, unknown> };
  const [decoded] = decodeManifest(JSON.stringify(sample.manifest)).pods;
  // These are set by admission, and are not defaults of the type.
  const { tolerations: _t, priority: _p, preemptionPolicy: _m, ...spec } = sample.spec;
  expect(decoded && withResources(defaultPod(decoded.pod))).toEqual(spec);
});

/** The API server writes empty resources where none are set. */
function withResources({ spec }: Pod): Pod['spec'] {
  const fill = (container: Pod['spec']['containers'][number]) => ({ resources: {}, ...container });
  return {
    ...spec,
    containers: spec.containers.map(fill),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(fill) }),
  };
}
