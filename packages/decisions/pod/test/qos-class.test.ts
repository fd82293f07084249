import { expect, test } from '@jest/globals';
import type { PodSpec } from '@kubus/contracts';
import { qosClass } from '../src/index.ts';

const qosOf = (spec: Partial<PodSpec>) =>
  qosClass({ spec: { containers: [{ name: 'c', image: 'busybox' }], ...spec } });

test.each([
  [{}, 'BestEffort'],
  [{ requests: { cpu: '100m' } }, 'Burstable'],
  [{ requests: { cpu: '100m', memory: '1Gi' }, limits: { cpu: '100m', memory: '1Gi' } }, 'Guaranteed'],
  [{ requests: { cpu: '0.1', memory: '1024Mi' }, limits: { cpu: '100m', memory: '1Gi' } }, 'Guaranteed'],
  [{ limits: { cpu: '100m', memory: '1Gi' } }, 'Guaranteed'],
  [{ limits: { cpu: '100m' } }, 'Burstable'],
])('the class of %j is %s', (resources, qos) => {
  expect(qosOf({ containers: [{ name: 'c', resources }] })).toBe(qos);
});

test('pod-level resources determine the class', () => {
  const containers = [{ name: 'c', resources: { requests: { cpu: '1' } } }];
  const limits = { cpu: '2', memory: '1Gi' };
  expect(qosOf({ containers, resources: { limits, requests: limits } })).toBe('Guaranteed');
  expect(qosOf({ containers, resources: { limits } })).toBe('Guaranteed');
  expect(qosOf({ resources: { requests: { memory: '1Gi' } } })).toBe('Burstable');
  expect(qosOf({ resources: { limits: { 'hugepages-2Mi': '4Mi' } } })).toBe('BestEffort');
});
