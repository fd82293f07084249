// Metrics of volumes, with real file systems.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mount } from '@kubus/filesystem';
import { Distribution } from '@kubus/metrics';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import { Metrics } from '@kubus/service-kit';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileSystemStats } from '../src/usage/file-system-stats.ts';
import { createVolumeHost } from '../src/index.ts';
import { OPERATION_SECONDS, timedHost } from '../src/host/timed-host.ts';
import { addVolumeMetrics } from '../src/usage/volume-metrics.ts';
import { volumeUsage } from '../src/usage/volume-usage.ts';
import { VolumeUsages } from '../src/usage/volume-usages.ts';
import { boundClaim } from './bound-claim.ts';
import { ScriptedNode, podWith } from './scripted-node.ts';
import { makeRoot, removeRoot } from './test-root.ts';

const noCsi = { stats: () => Promise.resolve(undefined) };

let dir: string;
let node: ScriptedNode;
let clock: ManualClock;
beforeEach(() => {
  dir = makeRoot();
  for (const name of ['node', 'share']) mkdirSync(join(dir, name));
  clock = new ManualClock();
  node = new ScriptedNode(clock);
});
afterEach(async () => {
  await node.kill();
  await removeRoot(dir);
});

test('volumes are counted, their operations timed, and the usage of claims reported', async () => {
  const share = join(dir, 'share');
  await mount({ type: 'tmpfs', source: 'tmpfs', target: share, options: ['size=1m', 'nr_inodes=100'] });
  const times = { operations: new Distribution(OPERATION_SECONDS), wholes: new Distribution(OPERATION_SECONDS) };
  const root = join(dir, 'node');
  const host = timedHost(createVolumeHost({ root, clock, logger: silentLogger }), times, () => clock.now());
  node.claim(boundClaim('data', { kind: 'local', path: share }));
  await node.start({ root, host, records: new MemoryRecords() });
  const data = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
  for (const uid of ['a', 'b']) node.want(podWith(uid, [data, { name: 'disk', emptyDir: {} }]));
  for (const uid of ['a', 'b']) await node.untilReady(uid);
  const missing = { name: 'no', hostPath: { path: join(dir, 'missing'), type: 'File' } };
  node.want(podWith('c', [missing]));
  await node.until(() => node.events.length === 1);

  const metrics = new Metrics({});
  const volumes = () => node.manager.volumes;
  const usages = new VolumeUsages({ clock, volumes, usage: ({ step }) => volumeUsage(step, noCsi) });
  addVolumeMetrics(metrics, { times, usages, volumes });
  const shown = async () => (await metrics.write()).text.split('\n');
  const stat = (name: string, value: number) =>
    `kubelet_volume_stats_${name}{namespace="default",persistentvolumeclaim="data"} ${value}`;
  const { bsize, blocks, bfree, files, ffree } = statfsSync(share);
  expect(await shown()).toEqual(
    expect.arrayContaining([
      'volume_manager_total_volumes{plugin_name="kubernetes.io/local-volume",state="desired_state_of_world"} 2',
      'volume_manager_total_volumes{plugin_name="kubernetes.io/local-volume",state="actual_state_of_world"} 2',
      'volume_manager_total_volumes{plugin_name="kubernetes.io/empty-dir",state="actual_state_of_world"} 2',
      'volume_manager_total_volumes{plugin_name="kubernetes.io/host-path",state="desired_state_of_world"} 1',
      'storage_operation_duration_seconds_count{volume_plugin="kubernetes.io/local-volume",operation_name="volume_mount",status="success",migrated="false"} 2',
      'storage_operation_duration_seconds_count{volume_plugin="kubernetes.io/host-path",operation_name="volume_mount",status="fail-unknown",migrated="false"} 1',
      'volume_operation_total_seconds_count{plugin_name="kubernetes.io/local-volume",operation_name="volume_mount"} 2',
      stat('capacity_bytes', blocks * bsize),
      stat('available_bytes', bfree * bsize),
      stat('used_bytes', (blocks - bfree) * bsize),
      stat('inodes', files),
      stat('inodes_free', ffree),
      stat('inodes_used', files - ffree),
    ]),
  );
  // A known usage is valid for a minute.
  writeFileSync(join(share, 'file'), '');
  const again = await shown();
  expect(again).toContain(stat('inodes_free', ffree));
  expect(again).toContain(
    'kubelet_volume_metric_collection_duration_seconds_count{metric_source="kubernetes.io/local-volume"} 2',
  );
  await clock.advance(60_000);
  expect(await shown()).toContain(stat('inodes_free', ffree - 1));
});

test('a file system that does not answer is left out', async () => {
  expect(await fileSystemStats(join(dir, 'missing'))).toBeUndefined();
});
