// The node's statistics of its pods, compared with their real usage.
import { expect } from '@jest/globals';
import { type TestNode, askNode, poll } from '@kubus/harness';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { onNode } from './node.ts';
import { container, pod, shell } from '../../src/pods.ts';

const [MB, MiB] = [1_000_000, 1024 * 1024];

interface Container {
  readonly name: string;
  readonly cpu: { readonly usageNanoCores: number; readonly usageCoreNanoSeconds: number };
  readonly memory: { readonly usageBytes: number; readonly workingSetBytes: number; readonly rssBytes: number };
  readonly rootfs: { readonly usedBytes: number; readonly capacityBytes: number };
  readonly logs: { readonly usedBytes: number; readonly inodesUsed: number };
}

interface Pod extends Omit<Container, 'name' | 'rootfs' | 'logs'> {
  readonly podRef: { readonly name: string; readonly uid: string };
  readonly containers: readonly Container[];
  readonly network?: { readonly name: string; readonly txBytes: number };
  readonly volume: readonly { readonly name: string; readonly usedBytes: number }[];
  readonly 'ephemeral-storage': { readonly usedBytes: number };
  readonly process_stats: { readonly process_count: number };
}

interface Summary {
  readonly node: Pick<Pod, 'cpu' | 'memory'> & {
    readonly runtime: { readonly imageFs: { readonly usedBytes: number } };
    readonly systemContainers: readonly { readonly name: string; readonly memory: { readonly usageBytes: number } }[];
  };
  readonly pods: readonly Pod[];
}

async function summary(node: TestNode): Promise<Summary> {
  return JSON.parse(await askNode(node.dir, '/stats/summary')) as Summary;
}

/** The samples of a family: labels as they are written, and values. */
function samples(text: string, family: string): [labels: string, value: number][] {
  return [...text.matchAll(new RegExp(`^${family}(\\{.*\\})? (\\S+)`, 'gm'))].map(([, labels = '', value]) => [
    labels,
    Number(value),
  ]);
}

/** The value of a container's sample. */
function valueOf(text: string, family: string, name: string): number | undefined {
  return samples(text, family).find(([labels]) => labels.includes(`container="${name}"`))?.[1];
}

const staying = 'trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done';
const cpu = { cpu: '200m', memory: '32Mi' };

onNode('pod statistics match the usage of the pods', async (node) => {
  const initContainers = [container({ name: 'ends', command: shell('exit 0') })];
  const containers = [
    container({ name: 'burns', command: shell('while :; do :; done'), resources: { limits: cpu, requests: cpu } }),
    container({
      name: 'holds',
      command: shell(`head -c ${50 * MiB} /dev/zero > /memory/file; ${staying}`),
      volumeMounts: [{ name: 'memory', mountPath: '/memory' }],
    }),
    container({
      name: 'writes',
      command: shell(
        `head -c ${20 * MB} /dev/zero > /file; head -c ${3 * MB} /dev/zero > /disk/file; head -c 100000 /dev/zero | tr '\\0' '\\n'; ${staying}`,
      ),
      volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
    }),
    container({
      name: 'sends',
      command: shell(
        `gateway=$(ip route | sed -n 's/^default via \\([0-9.]*\\).*/\\1/p'); ping -c 30 -s 10000 -i 0.1 $gateway; ${staying}`,
      ),
    }),
  ];
  const volumes = [
    { name: 'memory', emptyDir: { medium: 'Memory' } },
    { name: 'disk', emptyDir: {} },
  ];
  await node.writeManifest('busy.json', pod('busy', { initContainers, containers, volumes }));
  await node.writeManifest('host.json', pod('host', { hostNetwork: true }));
  const { ref } = await node.watch.waitForPod('busy');

  // Volume statistics are cached for a minute: they are requested once they no longer change.
  const log = join(node.dir.podLogs, `${ref.namespace}_${ref.name}_${ref.uid}`, 'writes', '0.log');
  await poll('everything is written', async () => {
    const held = valueOf(await askNode(node.dir, '/metrics/resource'), 'container_memory_working_set_bytes', 'holds');
    return ((await stat(log)).size > MB && (held ?? 0) > 50 * MiB) || undefined;
  });

  // The runtime measures layers every ten seconds, and the node caches the result for a minute: the first one has to be
  // complete.
  await poll('the runtime has measured what is written', async () => {
    const { stats = [] } = await node.cri('ListContainerStats', {});
    const writes = stats.find(({ attributes }) => attributes?.metadata?.name === 'writes');
    return Number(writes?.writableLayer?.usedBytes?.value ?? 0) >= 20 * MB || undefined;
  });

  const named = (of: Summary, name: string) => of.pods.find(({ podRef }) => podRef.name.startsWith(name));
  const done = await poll('everything is done and reported', async () => {
    const reported = await summary(node);
    const busy = named(reported, 'busy');
    const byName = new Map(busy?.containers.map((one) => [one.name, one]));
    const isDone =
      (byName.get('burns')?.cpu.usageCoreNanoSeconds ?? 0) > 3e8 &&
      (byName.get('writes')?.rootfs.usedBytes ?? 0) >= 20 * MB &&
      (byName.get('writes')?.logs.usedBytes ?? 0) >= MB &&
      (busy?.network?.txBytes ?? 0) > 200_000 &&
      named(reported, 'host') !== undefined &&
      !byName.has('ends');
    return isDone ? { reported, busy, byName } : undefined;
  });
  const { reported, busy, byName } = done;
  expect(busy?.podRef.uid).toBe(ref.uid);
  expect([...byName.keys()].sort()).toEqual(['burns', 'holds', 'sends', 'writes']);

  // Its limit is a fifth of a CPU; the kernel allows one period more.
  const burns = byName.get('burns');
  expect(burns?.cpu.usageNanoCores).toBeGreaterThan(1e6);
  expect(burns?.cpu.usageNanoCores).toBeLessThan(4e8);
  expect(busy?.cpu.usageCoreNanoSeconds).toBeGreaterThan(burns?.cpu.usageCoreNanoSeconds ?? NaN);
  expect(reported.node.cpu.usageCoreNanoSeconds).toBeGreaterThan(busy?.cpu.usageCoreNanoSeconds ?? NaN);

  const holds = byName.get('holds');
  expect(holds?.memory.workingSetBytes).toBeGreaterThan(50 * MiB);
  expect(holds?.memory.workingSetBytes).toBeLessThan(80 * MiB);
  expect(holds?.memory.rssBytes).toBeLessThan(20 * MiB);
  expect(busy?.memory.usageBytes).toBeGreaterThan(50 * MiB);
  expect(busy?.memory.usageBytes).toBeLessThan(reported.node.memory.usageBytes);

  expect(byName.get('writes')?.rootfs.usedBytes).toBeLessThan(25 * MB);
  expect(burns?.rootfs.usedBytes).toBeLessThan(MB);
  expect(byName.get('writes')?.logs.usedBytes).toBeLessThan(20 * MB);
  expect(burns?.logs.usedBytes).toBeLessThan(100_000);
  const volume = (name: string) => busy?.volume.find((one) => one.name === name)?.usedBytes;
  expect(volume('memory')).toBeGreaterThanOrEqual(50 * MiB);
  expect(busy?.['ephemeral-storage'].usedBytes).toBeGreaterThan(23 * MB - 100_000);
  expect(busy?.['ephemeral-storage'].usedBytes).toBeLessThan(50 * MiB);
  // Each container's, some with a child, and the sandbox's.
  expect(busy?.process_stats.process_count).toBeGreaterThanOrEqual(5);
  expect(reported.node.runtime.imageFs.usedBytes).toBeGreaterThan(MB);
  expect(named(reported, 'host')?.network).toBeUndefined();

  const resource = await askNode(node.dir, '/metrics/resource');
  expect(valueOf(resource, 'container_cpu_usage_seconds_total', 'burns')).toBeGreaterThanOrEqual(
    (burns?.cpu.usageCoreNanoSeconds ?? NaN) / 1e9,
  );
  expect(valueOf(resource, 'container_memory_working_set_bytes', 'holds')).toBeGreaterThan(50 * MiB);
  expect(samples(resource, 'container_start_time_seconds')).toHaveLength(5);
  expect(samples(resource, 'resource_scrape_error')).toEqual([['', 0]]);

  const cadvisor = await askNode(node.dir, '/metrics/cadvisor');
  expect(valueOf(cadvisor, 'container_memory_usage_bytes', 'holds')).toBeGreaterThan(50 * MiB);
  expect(valueOf(cadvisor, 'container_cpu_cfs_throttled_periods_total', 'burns')).toBeGreaterThan(0);
  expect(valueOf(cadvisor, 'container_spec_memory_limit_bytes', 'burns')).toBe(32 * MiB);
  expect(valueOf(cadvisor, 'container_processes', 'holds')).toBe(2);
  expect(valueOf(cadvisor, 'container_file_descriptors', 'burns')).toBeGreaterThan(2);
  const sent = samples(cadvisor, 'container_network_transmit_bytes_total');
  const ofPod = sent.filter(([labels]) => labels.includes('pod="busy'));
  expect(ofPod).toHaveLength(1);
  expect(ofPod[0]?.[1]).toBeGreaterThan(200_000);
  expect(samples(cadvisor, 'machine_cpu_cores')[0]?.[1]).toBeGreaterThan(0);

  const less = JSON.parse(await askNode(node.dir, '/stats/summary?only_cpu_and_memory=true')) as Summary;
  expect(named(less, 'busy')).not.toHaveProperty('network');
  expect(named(less, 'busy')?.containers).toHaveLength(4);
});
