import { expect, test } from '@jest/globals';
import { type Candidate, type Observations, graceOf, parseThresholds, pressureFailure } from '../src/index.ts';
import { candidate } from './candidates.ts';

const MI = 1024 * 1024;
const due = parseThresholds(
  {
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%', 'pid.available': '1000' },
    evictionSoft: { 'imagefs.available': '20Gi' },
    evictionSoftGracePeriod: { 'imagefs.available': '30s' },
    evictionMinimumReclaim: {},
  },
  { enforcesPods: false },
);
const observations: Observations = {
  'memory.available': { available: 50 * MI, capacity: 1000 * MI, atMs: 1 },
  'nodefs.available': { available: 5 * MI, capacity: 100 * MI, atMs: 1 },
  'pid.available': { available: 20_000, capacity: 32_768, atMs: 1 },
};
const met = { due, observations };

test('message and annotations have the words of the reference', () => {
  const pod = candidate('web', { request: { memory: '64Mi' }, memory: 100 * MI });
  expect(pressureFailure('memory', pod, met)).toEqual({
    reason: 'Evicted',
    disrupts: true,
    message:
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
      'Container main was using 100Mi, request is 64Mi, has larger consumption of memory. ',
    annotations: { offending_containers: 'main', offending_containers_usage: '100Mi', starved_resource: 'memory' },
  });
});

test('of a disk, layers and logs count together, and a container without a request has 0', () => {
  const pod = candidate('web', { layer: 3 * MI, logs: MI, memory: 5 });
  expect(pressureFailure('ephemeral-storage', pod, met)).toMatchObject({
    message:
      'The node was low on resource: ephemeral-storage. Threshold quantity: 10Mi, available: 5Mi. ' +
      'Container main was using 4Mi, request is 0, has larger consumption of ephemeral-storage. ',
  });
});

test('a pod within its requests is named no more than what the node lacks', () => {
  const pod = candidate('web', { request: { memory: '64Mi' }, memory: 64 * MI });
  expect(pressureFailure('memory', pod, met)).toMatchObject({
    message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ',
    annotations: { offending_containers: '', offending_containers_usage: '', starved_resource: 'memory' },
  });
});

test('requests of the pod as a whole are named, too', () => {
  const { pod, use } = candidate('web', { memory: 100 * MI });
  const whole: Candidate = { use, pod: { ...pod, spec: { ...pod.spec, resources: { requests: { memory: '50Mi' } } } } };
  const { message, annotations } = pressureFailure('memory', whole, met);
  expect(message).toContain(
    'Pod web was using 100Mi, request is 50Mi, has larger consumption of memory. Container main was using 100Mi, request is 0,',
  );
  expect(annotations).toMatchObject({ offending_pod: 'web', offending_pod_usage: '100Mi' });
});

test('counts are decimal, and a pod of which nothing is known has no annotations', () => {
  const unknown = { ...candidate('web', {}), use: undefined };
  expect(pressureFailure('pids', unknown, met)).toEqual({
    reason: 'Evicted',
    disrupts: true,
    message: 'The node was low on resource: pids. Threshold quantity: 1k, available: 20k. ',
  });
});

test('a hard threshold gives a second, a soft one the shorter of the pod’s and the longest grace period', () => {
  const [hard, soft] = [due[0], due.at(-1)];
  if (hard === undefined || soft === undefined) throw new Error('there are thresholds');
  const { pod } = candidate('web', {});
  const patient = { pod: { ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: 30 } } };
  expect([graceOf(hard, patient, 60), graceOf(soft, patient, 60), graceOf(soft, patient, 5)]).toEqual([1, 30, 5]);
  expect(graceOf(soft, { pod }, 60)).toBe(60);
});
