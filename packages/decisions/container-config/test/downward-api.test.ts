import { pod } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { Container } from '@kubus/contracts';
import fc from 'fast-check';
import { fieldValue, resourceFieldValue } from '../src/index.ts';
import { thrown } from './thrown.ts';

describe('fieldRef', () => {
  const metadata = {
    uid: 'u1',
    labels: { b: '2', app: 'web' },
    annotations: { 'example.com/note': 'a "quoted"\n\\ line\u0001\u00a0é😀' },
  };
  const spec = { nodeName: 'n1', serviceAccountName: 'sa' };
  const from = { podIps: ['10.0.0.5', 'fd00::5'], hostIps: ['192.168.0.1', 'fd01::1'] };

  test.each([
    ['metadata.name', 'p'],
    ['metadata.namespace', 'default'],
    ['metadata.uid', 'u1'],
    ["metadata.labels['app']", 'web'],
    ["metadata.labels['none']", ''],
    ["metadata.annotations['example.com/note']", 'a "quoted"\n\\ line\u0001\u00a0é😀'],
    ['metadata.labels', 'app="web"\nb="2"'],
    ['metadata.annotations', 'example.com/note="a \\"quoted\\"\\n\\\\ line\\x01\\u00a0é😀"'],
    ['spec.nodeName', 'n1'],
    ['spec.serviceAccountName', 'sa'],
    ['status.hostIP', '192.168.0.1'],
    ['status.hostIPs', '192.168.0.1,fd01::1'],
    ['status.podIP', '10.0.0.5'],
    ['status.podIPs', '10.0.0.5,fd00::5'],
  ])('of %s has the value of the field', (fieldPath, expected) => {
    expect(fieldValue(pod(spec, metadata), { apiVersion: 'v1', fieldPath }, from)).toBe(expected);
  });

  test('has the host’s addresses for a pod in the host’s network', () => {
    const of = pod({ hostNetwork: true });
    expect(fieldValue(of, { fieldPath: 'status.podIPs' }, { hostIps: from.hostIps })).toBe('192.168.0.1,fd01::1');
  });

  test.each([
    [{ fieldPath: 'spec.containers' }, 'unsupported fieldPath: spec.containers'],
    [{ apiVersion: 'v2', fieldPath: 'metadata.name' }, 'unsupported pod version: v2'],
  ])('refuses %j', (selector, message) => {
    expect(thrown(() => fieldValue(pod(), selector, {}))).toMatchObject({
      message,
      code: 'CreateContainerConfigError',
    });
  });
});

describe('resourceFieldRef', () => {
  const container: Container = {
    name: 'c',
    resources: {
      requests: { cpu: '1250m', memory: '33Mi', 'hugepages-2Mi': '4Mi' },
      limits: { memory: '64Mi', 'ephemeral-storage': '1Gi' },
    },
  };
  const allocatable = { cpu: '3500m', memory: '1Gi' };
  const value = (resource: string, divisor?: string, spec: Parameters<typeof pod>[0] = {}) =>
    resourceFieldValue(pod(spec), container, { resource, ...(divisor !== undefined && { divisor }) }, { allocatable });

  test.each([
    ['requests.cpu', undefined, '2'],
    ['requests.cpu', '1', '2'],
    ['requests.cpu', '0', '2'],
    ['requests.cpu', '1m', '1250'],
    ['requests.memory', undefined, '34603008'],
    ['requests.memory', '1Mi', '33'],
    ['requests.memory', '32Mi', '2'],
    ['requests.ephemeral-storage', '1', '0'],
    ['requests.hugepages-2Mi', '1Mi', '4'],
    ['limits.hugepages-2Mi', '1Mi', '0'],
    ['limits.ephemeral-storage', '1Mi', '1024'],
    ['limits.memory', '1Mi', '64'],
    ['limits.cpu', '1m', '3500'],
    ['limits.cpu', undefined, '4'],
  ])('divides %s by %s', (resource, divisor, expected) => expect(value(resource, divisor)).toBe(expected));

  test('prefers the pod’s limit to the node’s allocatable amount', () => {
    expect(value('limits.cpu', '1m', { resources: { limits: { cpu: '2' } } })).toBe('2000');
  });

  test.each(['limits.pods', 'cpu', 'requests.'])('refuses %s', (resource) => {
    const message = `unsupported container resource : ${resource}`;
    expect(thrown(() => value(resource))).toMatchObject({ message });
  });

  test('rounds up', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 50n }), fc.bigInt({ min: 1n, max: 2n ** 40n }), (bytes, by) => {
        const container = { resources: { limits: { memory: `${bytes}` } } };
        const made = resourceFieldValue(pod(), container, { resource: 'limits.memory', divisor: `${by}` }, {});
        expect(BigInt(made) * by >= bytes && (BigInt(made) - 1n) * by < bytes).toBe(true);
      }),
    );
  });
});
