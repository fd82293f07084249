import { beforeEach, expect, test } from '@jest/globals';
import { type Pod, type PodStatus, podSchema } from '@kubus/contracts';
import { PodStartups } from '../src/pod-startups.ts';

const CREATED = Date.parse('2024-01-01T00:00:00Z');

const running = { ...statusOf('c'), state: { running: { startedAt: '2024-01-01T00:00:05Z' } } };

function statusOf(name: string) {
  return { name, ready: true, restartCount: 0, image: 'i', imageID: 'i' };
}

function pod(status: PodStatus, spec: object = {}): Pod {
  return podSchema.parse({
    metadata: { name: 'a', namespace: 'n', uid: 'u', creationTimestamp: '2024-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    status,
  });
}

let startups: PodStartups;

beforeEach(() => {
  startups = new PodStartups();
});

/** The number of measured pods and the sum of their seconds; then the same for the SLI. */
function measured(): number[] {
  return [startups.total, startups.sli].flatMap(({ series }) => series.flatMap(({ count, sum }) => [count, sum]));
}

const started: PodStatus = { phase: 'Running', startTime: '2024-01-01T00:00:01Z', containerStatuses: [running] };

test('a pod is measured once, from its creation until its status shows all containers running', () => {
  startups.reported(pod({}), CREATED + 100);
  startups.reported(pod({ ...started, containerStatuses: [statusOf('c')] }), CREATED + 4_000);
  startups.reported(pod(started), CREATED + 6_000);
  startups.reported(pod(started), CREATED + 9_000);
  expect(measured()).toEqual([1, 6, 1, 6]);
  expect(startups.firstWithNetwork).toBe(6);
});

test('pulls and init containers do not count for the SLI, and overlapping pulls only once', () => {
  startups.reported(pod({}), CREATED);
  startups.pulling('u', CREATED + 1_000);
  startups.pulling('u', CREATED + 1_500);
  startups.pulled('u', CREATED + 3_000);
  startups.pulled('u', CREATED + 3_500);
  const terminated = { exitCode: 0, startedAt: '2024-01-01T00:00:03Z', finishedAt: '2024-01-01T00:00:04Z' };
  const initContainerStatuses = [{ ...statusOf('i'), state: { terminated } }];
  startups.reported(pod({ ...started, initContainerStatuses }), CREATED + 6_000);
  expect(measured()).toEqual([1, 6, 1, 3]);
});

test.each<[string, PodStatus, object, number[]]>([
  ['with a stateful volume', {}, { volumes: [{ name: 'v', hostPath: { path: '/v' } }] }, [1, 6, 0, 0]],
  ['that existed before', { startTime: '2024-01-01T00:00:01Z' }, {}, [0, 0, 0, 0]],
  ['that could not be scheduled', { conditions: [{ type: 'PodScheduled', status: 'False' }] }, {}, [0, 0, 0, 0]],
  ['that has ended', { phase: 'Failed' }, {}, [0, 0, 0, 0]],
])('a pod %s is measured accordingly', (_what, first, spec, expected) => {
  startups.reported(pod(first, spec), CREATED);
  startups.reported(pod(started, spec), CREATED + 6_000);
  expect(measured()).toEqual(expected);
});

test('a pod in the host’s network is not the first one with a network of its own', () => {
  startups.reported(pod({}, { hostNetwork: true }), CREATED);
  startups.reported(pod(started, { hostNetwork: true }), CREATED + 6_000);
  expect(startups.firstWithNetwork).toBe(0);
});
