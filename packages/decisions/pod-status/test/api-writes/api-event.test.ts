import { expect, test } from '@jest/globals';
import type { NodeEvent, PodEvent } from '@kubus/contracts';
import * as fc from 'fast-check';
import { apiEvent } from '../../src/index.ts';

const series = {
  ...{
    type: 'Normal' as const,
    reason: 'Started',
    message: 'Container started',
    count: 2,
    series: 'pod-workers-0.1.7',
  },
  ...{ firstTimestamp: '2030-01-01T10:00:00.123Z', lastTimestamp: '2030-01-01T10:00:05.999Z' },
};
const ofPod: PodEvent = {
  ...series,
  ref: { namespace: 'shop', name: 'web', uid: 'u1' },
  fieldPath: 'spec.containers{c}',
};

test('an Event is about the pod, or one of its containers', () => {
  const { namespace, name, object, patch } = apiEvent(ofPod, 'n', '42');
  expect(name).toMatch(/^web\.[0-9a-f]+$/);
  // Nanoseconds since the Unix epoch: the milliseconds are those of the first timestamp.
  expect(BigInt(`0x${name.slice(4)}`) / 1_000_000n).toBe(BigInt(Date.parse(series.firstTimestamp)));
  expect(namespace).toBe('shop');
  expect(object).toEqual({
    ...{ apiVersion: 'v1', kind: 'Event', metadata: { namespace, name } },
    involvedObject: {
      ...{ apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'u1', resourceVersion: '42' },
      fieldPath: 'spec.containers{c}',
    },
    ...{ type: 'Normal', reason: 'Started', message: 'Container started', count: 2 },
    ...{ firstTimestamp: '2030-01-01T10:00:00Z', lastTimestamp: '2030-01-01T10:00:05Z' },
    ...{ source: { component: 'kubelet', host: 'n' }, reportingComponent: 'kubelet', reportingInstance: 'n' },
  });
  expect(patch).toEqual({ count: 2, lastTimestamp: '2030-01-01T10:00:05Z', message: 'Container started' });
});

test('an Event about the node is in the default namespace', () => {
  const recorded: NodeEvent = { ...series, node: 'n' };
  const { namespace, object } = apiEvent(recorded, 'n');
  expect(namespace).toBe('default');
  expect(object).toMatchObject({ involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'n' } });
});

test('the name of an Event is valid and unique to its series', () => {
  const name = (change: Partial<PodEvent>) => apiEvent({ ...ofPod, ...change }, 'n').name;
  expect(name({ count: 3, lastTimestamp: '2030-01-01T11:00:00.000Z' })).toBe(name({}));
  expect(name({ series: 'pod-workers-0.1.8' })).not.toBe(name({}));
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/);
  const names = fc.array(label, { minLength: 1, maxLength: 20 }).map((labels) => labels.join('.'));
  fc.assert(
    fc.property(names, (object) => {
      const made = name({ ref: { ...ofPod.ref, name: object } });
      expect(made.length).toBeLessThanOrEqual(253);
      expect(made).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    }),
  );
});

test('an Event has the annotations of what it says', () => {
  const annotations = { starved_resource: 'memory' };
  const { name, namespace, object } = apiEvent({ ...ofPod, annotations }, 'n');
  expect(object['metadata']).toEqual({ name, namespace, annotations });
});
