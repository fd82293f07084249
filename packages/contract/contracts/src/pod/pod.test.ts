import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { type Pod, podSchema, podUpdateSchema } from './index.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1', creationTimestamp: null },
  spec: { containers: [{ name: 'c', livenessProbe: { httpGet: { port: 'http' } } }] },
};

describe('podSchema', () => {
  test('keeps unknown fields at every depth', () => {
    const newer = {
      ...pod,
      topField: 1,
      spec: { specField: { a: [1] }, containers: [{ name: 'c', containerField: true, resources: { newKind: {} } }] },
      status: { statusField: 'x', conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, more: 1 }] },
    };
    expect(podSchema.parse(newer)).toEqual(newer);
  });

  test.each([
    ['no UID', { ...pod, metadata: { name: 'web', namespace: 'default' } }, ['metadata', 'uid']],
    ['no spec', { metadata: pod.metadata }, ['spec']],
    ['a container without a name', { ...pod, spec: { containers: [{}] } }, ['spec', 'containers', 0, 'name']],
    ['a number as a quantity', withLimit(1), ['spec', 'containers', 0, 'resources', 'limits', 'cpu']],
    ['a fractional port', withPort(80.5), ['spec', 'containers', 0, 'ports', 0, 'containerPort']],
  ])('refuses %s and reports its path', (_, value, path) => {
    expect(podSchema.safeParse(value).error?.issues.map((issue) => issue.path)).toEqual([path]);
  });

  test('can be published as JSON Schema', () => {
    expect(z.toJSONSchema(podUpdateSchema)).toMatchObject({ properties: { pod: { type: 'object' } } });
  });
});

function withLimit(cpu: unknown): unknown {
  return { ...pod, spec: { containers: [{ name: 'c', resources: { limits: { cpu } } }] } };
}

function withPort(containerPort: unknown): unknown {
  return { ...pod, spec: { containers: [{ name: 'c', ports: [{ containerPort }] }] } };
}
