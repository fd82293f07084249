import { describe, expect, test } from '@jest/globals';
import {
  type KubeObject,
  nodeMetrics,
  nodeUsage,
  podMetrics,
  podUsage,
  type Usage,
  usageReading,
} from '../src/index.ts';

const T0 = 1_700_000_000_000;

/** The metrics of a container that has used so much CPU until then. */
const container = (name: string, atMs: number, cpu: number, startedAtMs = T0 - 60_000) => `
container_cpu_usage_seconds_total{container="${name}",namespace="default",pod="web"} ${cpu} ${atMs}
container_memory_working_set_bytes{container="${name}",namespace="default",pod="web"} 389120 ${atMs}
container_start_time_seconds{container="${name}",namespace="default",pod="web"} ${startedAtMs / 1000}`;

const node = (atMs: number, cpu: number) => `# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total ${cpu} ${atMs}
node_memory_working_set_bytes 9.109106688e+09 ${atMs}`;

const usages = (before: string, now: string) => podUsage(usageReading(before), usageReading(now), 'default/web');

test('CPU is the mean between two readings, memory that of the newer one', () => {
  const usage = nodeUsage(usageReading(node(T0, 100)), usageReading(node(T0 + 10_000, 105)));
  expect(usage).toEqual({ nanoCores: 500_000_000, memoryBytes: 9_109_106_688, atMs: T0 + 10_000, windowMs: 10_000 });
  expect(usages(container('c', T0, 1), container('c', T0 + 2_000, 1.003))?.get('c')).toMatchObject({
    nanoCores: 1_500_000,
    windowMs: 2_000,
  });
});

describe('what has no figures', () => {
  const older = container('a', T0, 1);
  test.each([
    ['a pod that is in no reading', '', ''],
    ['a pod of which one container has just started', older, older + container('b', T0 + 5_000, 1, T0 + 2_000)],
    ['a container that was read once', older, older],
    ['a container that has no start and was not read before', '', older.replace(/^.*start_time.*$/m, '')],
    ['a container without memory', older, container('a', T0 + 5_000, 2).replace(/^.*memory.*$/m, '')],
    ['values that are no numbers', older, container('a', T0 + 5_000, Number.NaN)],
  ])('%s', (_, before, now) => {
    expect(usages(before, now)).toBeUndefined();
  });

  test('a node whose CPU time has become less', () => {
    expect(nodeUsage(usageReading(node(T0, 100)), usageReading(node(T0 + 1, 99)))).toBeUndefined();
  });
});

test('a container that was started again, or since the last reading, counts from its start', () => {
  const now = container('c', T0 + 15_000, 1.2, T0 + 3_000);
  const usage = { nanoCores: 100_000_000, windowMs: 12_000 };
  expect(usages(container('c', T0, 50), now)?.get('c')).toMatchObject(usage);
  expect(usages('', now)?.get('c')).toMatchObject(usage);
});

test('the objects have quantities, a window and the labels of what they are of', () => {
  const object = (name: string, namespace?: string) =>
    ({
      apiVersion: 'v1',
      kind: 'x',
      metadata: { name, namespace, uid: 'u', labels: { a: 'b' } },
    }) as unknown as KubeObject;
  const used = usages(container('c', T0, 1), container('c', T0 + 2_500, 1.003)) ?? new Map<string, Usage>();
  const metadata = { name: 'web', creationTimestamp: '2023-11-14T22:13:23Z', labels: { a: 'b' } };
  const measured = { timestamp: '2023-11-14T22:13:22Z', window: '2.5s' };
  const usage = { cpu: '1200u', memory: '380Ki' };
  expect(podMetrics(object('web', 'default'), used, T0 + 3_000)).toEqual({
    metadata: { ...metadata, namespace: 'default' },
    ...measured,
    containers: [{ name: 'c', usage }],
  });
  const [only] = used.values();
  expect(only && nodeMetrics(object('web'), only, T0 + 3_000)).toEqual({ metadata, ...measured, usage });
});
