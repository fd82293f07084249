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

/** How many pods were measured in all, and the sum of their seconds; then the same of the SLI. */
function measured(): number[] {
  return [startups.total, startups.sli].flatMap(({ series }) => series.flatMap(({ count, sum }) => [count, sum]));
}

const started: PodStatus = { phase: 'Running', startTime: '2024-01-01T00:00:01Z', containerStatuses: [running] };

test('a pod is measured once, from its creation to the word that all containers run', () => {
  startups.heard(pod({}), CREATED + 100);
  startups.heard(pod({ ...started, containerStatuses: [statusOf('c')] }), CREATED + 4_000);
  startups.heard(pod(started), CREATED + 6_000);
  startups.heard(pod(started), CREATED + 9_000);
  expect(measured()).toEqual([1, 6, 1, 6]);
  expect(startups.firstWithNetwork).toBe(6);
});

test('pulls and init containers do not count for the SLI, pulls at once only once', () => {
  startups.heard(pod({}), CREATED);
  startups.pulling('u', CREATED + 1_000);
  startups.pulling('u', CREATED + 1_500);
  startups.pulled('u', CREATED + 3_000);
  startups.pulled('u', CREATED + 3_500);
  const terminated = { exitCode: 0, startedAt: '2024-01-01T00:00:03Z', finishedAt: '2024-01-01T00:00:04Z' };
  const initContainerStatuses = [{ ...statusOf('i'), state: { terminated } }];
  startups.heard(pod({ ...started, initContainerStatuses }), CREATED + 6_000);
  expect(measured()).toEqual([1, 6, 1, 3]);
});

test.each<[string, PodStatus, object, number[]]>([
  ['with a volume that keeps state', {}, { volumes: [{ name: 'v', hostPath: { path: '/v' } }] }, [1, 6, 0, 0]],
  ['that was there before', { startTime: '2024-01-01T00:00:01Z' }, {}, [0, 0, 0, 0]],
  ['that could not be scheduled', { conditions: [{ type: 'PodScheduled', status: 'False' }] }, {}, [0, 0, 0, 0]],
  ['that was over', { phase: 'Failed' }, {}, [0, 0, 0, 0]],
])('a pod %s', (_what, first, spec, expected) => {
  startups.heard(pod(first, spec), CREATED);
  startups.heard(pod(started, spec), CREATED + 6_000);
  expect(measured()).toEqual(expected);
});

test('a pod in the host’s network is not the first with one of its own', () => {
  startups.heard(pod({}, { hostNetwork: true }), CREATED);
  startups.heard(pod(started, { hostNetwork: true }), CREATED + 6_000);
  expect(startups.firstWithNetwork).toBe(0);
});
