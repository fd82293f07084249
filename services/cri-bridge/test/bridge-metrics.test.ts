import { beforeEach, expect, test } from '@jest/globals';
import type { MetricFamily } from '@kubus/metrics';
import { ManualClock } from '@kubus/ports/testing';
import { Metrics } from '@kubus/service-kit';
import { BridgeMetrics, operationType, sizeLabel } from '../src/bridge-metrics.ts';
import { ScriptedPods } from './scripted-pods.ts';
import { failure } from './scripted-runtime.ts';

const clock = new ManualClock();
let counted: BridgeMetrics;

beforeEach(() => {
  counted = new BridgeMetrics();
});

/** The samples under a name: of a histogram, the number of values and their sum. */
async function shown(name: string): Promise<unknown> {
  const metrics = new Metrics({});
  counted.show(metrics);
  const family = (await metrics.families()).find((one: MetricFamily) => one.name === `kubelet_${name}`);
  if (family?.type === 'histogram') return family.series.map(({ labels, count, sum }) => ({ ...labels, count, sum }));
  return family?.samples.map(({ labels, value }) => ({ ...labels, value }));
}

test('calls are counted and timed, including failed ones', async () => {
  const runtime = new ScriptedPods();
  runtime.on('StopContainer', async () => {
    await clock.advance(40);
    throw failure('NotFound', 'no such container');
  });
  const measured = counted.measured(runtime, clock);
  await measured.call('ListContainers', {});
  await expect(measured.call('StopContainer', { containerId: 'c' })).rejects.toThrow('no such container');
  expect(await shown('runtime_operations_total')).toEqual([
    { operation_type: 'list_containers', value: 1 },
    { operation_type: 'stop_container', value: 1 },
  ]);
  expect(await shown('runtime_operations_errors_total')).toEqual([{ operation_type: 'stop_container', value: 1 }]);
  expect(await shown('runtime_operations_duration_seconds')).toEqual([
    { operation_type: 'list_containers', count: 1, sum: 0 },
    { operation_type: 'stop_container', count: 1, sum: 0.04 },
  ]);
});

test('the interval between relists is known from the second one on', async () => {
  counted.relisted(10_000, 10_500);
  expect(await shown('pleg_relist_interval_seconds')).toEqual([{ count: 0, sum: 0 }]);
  counted.relisted(40_000, 40_250);
  expect(await shown('pleg_relist_interval_seconds')).toEqual([{ count: 1, sum: 30 }]);
  expect(await shown('pleg_relist_duration_seconds')).toEqual([{ count: 2, sum: 0.75 }]);
  expect(await shown('pleg_last_seen_seconds')).toEqual([{ value: 40 }]);
});

test.each([
  ['RunPodSandbox', 'run_podsandbox'],
  ['PodSandboxStatus', 'podsandbox_status'],
  ['ListPodSandbox', 'list_podsandbox'],
  ['UpdatePodSandboxResources', 'update_podsandbox_resources'],
  ['UpdateContainerResources', 'update_container'],
  ['ReopenContainerLog', 'reopen_container_log'],
  ['ImageFsInfo', 'image_fs_info'],
  ['ExecSync', 'exec_sync'],
  ['Version', 'version'],
])('%s is %s', (method, operation) => {
  expect(operationType(method)).toBe(operation);
});

test.each([
  [0, 'N/A'],
  [1, '0-10MB'],
  [10 * 1024 ** 2, '0-10MB'],
  [10 * 1024 ** 2 + 1, '10MB-100MB'],
  [2 * 1024 ** 3, '1GB-5GB'],
  [101 * 1024 ** 3, 'GT100GB'],
])('%d bytes are %s', (bytes, label) => {
  expect(sizeLabel(bytes)).toBe(label);
});
