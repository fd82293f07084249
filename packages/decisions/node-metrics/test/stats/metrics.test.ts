import { describe, expect, test } from '@jest/globals';
import { type MetricFamily, type MetricSample, exposition } from '@kubus/metrics';
import { type NodeReading, RowLabels, cadvisorMetrics, resourceMetrics } from '../../src/index.ts';
import { AT, cgroup, container, node, pod, samplesIn } from './readings.ts';

/** With the labels unchanged. */
function ofFamily(families: readonly MetricFamily[], name: string): readonly MetricSample[] {
  const family = families.find((one) => one.name === name);
  return family !== undefined && 'samples' in family ? family.samples : [];
}

function samplesOf(families: readonly MetricFamily[], name: string) {
  return samplesIn(families.find((one) => one.name === name));
}

describe('/metrics/resource', () => {
  const text = exposition(resourceMetrics(node));

  test.each([
    `node_cpu_usage_seconds_total 0.023904738 ${AT}`,
    `node_memory_working_set_bytes 650000 ${AT}`,
    `pod_cpu_usage_seconds_total{namespace="default",pod="web"} 0.023904738 ${AT}`,
    `container_memory_working_set_bytes{container="c",namespace="default",pod="web"} 650000 ${AT}`,
    `container_start_time_seconds{container="c",namespace="default",pod="web"} ${(AT - 50_000) / 1000}`,
    `container_swap_limit_bytes{container="c",namespace="default",pod="web"} 0 ${AT}`,
    'resource_scrape_error 0',
    '# TYPE container_cpu_usage_seconds_total counter',
    '# TYPE pod_memory_working_set_bytes gauge',
  ])('contains %s', (line) => {
    expect(text.split('\n')).toContain(line);
  });

  test('omits removed containers and absent limits', () => {
    const gone = { ...pod, cgroup: undefined, containers: [{ ...container('c'), cgroup: undefined }, container('d')] };
    const families = resourceMetrics({ ...node, pods: [gone] });
    expect(samplesOf(families, 'pod_cpu_usage_seconds_total')).toEqual([]);
    expect(samplesOf(families, 'container_start_time_seconds').map(({ labels }) => labels['container'])).toEqual(['d']);
    expect(samplesOf(families, 'container_swap_limit_bytes')).toEqual([]);
  });
});

describe('/metrics/cadvisor', () => {
  const families = cadvisorMetrics(node);

  test('contains the node, the tiers, and for each pod its own cgroup, its sandbox and its containers', () => {
    const rows = samplesOf(families, 'container_memory_rss').map(({ labels }) => labels);
    expect(rows).toHaveLength(8);
    expect(rows[0]).toEqual({ container: '', id: '/', image: '', name: '', namespace: '', pod: '' });
    expect(rows.slice(4, 7)).toEqual([
      { container: '', id: '/kubepods/podu', image: '', name: '', namespace: 'default', pod: 'web' },
      { container: '', id: '/kubepods/podu/id-pause', image: '', name: 'id-pause', namespace: 'default', pod: 'web' },
      {
        ...{ container: 'd', id: '/kubepods/podu/id-d', image: 'registry/busybox:1', name: 'id-d' },
        ...{ namespace: 'default', pod: 'web' },
      },
    ]);
  });

  test('contains each cgroup of other programs once', () => {
    const system = [
      { name: 'kubelet', cgroup: cgroup('/agent') },
      { name: 'runtime', cgroup: cgroup('/agent') },
      { name: 'misc', cgroup: cgroup('/') },
    ] as const;
    const ids = samplesOf(cadvisorMetrics({ ...node, system }), 'container_memory_rss').map(
      ({ labels }) => labels['id'],
    );
    expect(ids.slice(0, 3)).toEqual(['/', '/agent', '/kubepods']);
    expect(ids).toHaveLength(9);
  });

  test('passes every sample one at a time too', () => {
    for (const family of families) {
      if (!('each' in family) || family.each === undefined) continue;
      const taken: MetricSample[] = [];
      family.each((value, labels, timestampMs, further) => taken.push({ value, labels, timestampMs, further }));
      expect(taken).toEqual(family.samples);
    }
  });

  test('reuses the labels of the previous reading where they are unchanged', () => {
    const kept = new RowLabels();
    const labelsAt = (reading: NodeReading) =>
      new Map(
        ofFamily(cadvisorMetrics(reading, kept), 'container_memory_rss').map(({ labels }) => [labels['id'], labels]),
      );
    const before = labelsAt(node);
    const same = labelsAt(node);
    expect([...same.values()].every((labels) => labels === before.get(labels['id']))).toBe(true);
    const renamed = labelsAt({
      ...node,
      pods: node.pods.map((one) => ({ ...one, ref: { ...one.ref, name: 'other' } })),
    });
    for (const [id, labels] of renamed) {
      expect(labels === before.get(id)).toBe(labels['pod'] === '');
      expect(['', 'other']).toContain(labels['pod']);
    }
    labelsAt({ ...node, pods: [] });
    const anew = labelsAt(node);
    expect(anew.get('/')).toBe(before.get('/'));
    expect(anew.get('/kubepods/podu')).not.toBe(before.get('/kubepods/podu'));
    expect(anew).toEqual(before);
  });

  test('contains the network of the node and of sandboxes', () => {
    const received = samplesOf(families, 'container_network_receive_bytes_total');
    expect(received.map(({ labels }) => [labels['id'], labels['interface']])).toEqual([
      ['/', 'ifb0'],
      ['/', 'eth0'],
      ['/kubepods/podu/id-pause', 'eth0'],
    ]);
    expect(samplesOf(families, 'container_network_transmit_bytes_total')[0]?.value).toBe(2000);
  });

  test('contains the disks of the node, and what each cgroup has read and written', () => {
    const read = samplesOf(families, 'container_fs_reads_bytes_total');
    expect(read[0]).toMatchObject({ labels: { id: '/', device: '/dev/sda1' }, value: 13 * 512 });
    expect(read[1]).toMatchObject({ labels: { id: '/kubepods', device: '/dev/sda' }, value: 4096 });
    const usage = samplesOf(families, 'container_fs_usage_bytes').map(({ labels, value }) => [labels['device'], value]);
    expect(usage).toEqual([
      ['/dev/sda1', 300],
      ['tmpfs', 1],
    ]);
  });

  test.each([
    ['container_cpu_user_seconds_total', 0.12],
    ['container_cpu_cfs_throttled_seconds_total', 0.005],
    ['container_pressure_cpu_waiting_seconds_total', 4],
    ['container_pressure_memory_stalled_seconds_total', 1],
    ['container_pressure_io_waiting_seconds_total', 4],
    ['container_oom_events_total', 2],
    ['container_spec_memory_limit_bytes', 16 * 2 ** 30],
    ['container_spec_cpu_quota', 20_000],
    ['container_threads_max', 100],
    ['container_file_descriptors', 5],
    ['machine_cpu_cores', 4],
    ['machine_memory_bytes', 16 * 2 ** 30],
    ['container_fs_io_time_seconds_total', 3.5],
  ])('reports %s as %d', (name, value) => {
    expect(samplesOf(families, name)[0]?.value).toBe(value);
  });

  test('has timestamps on values that change, and on no others', () => {
    const timed = (name: string) => samplesOf(families, name)[0]?.timestampMs;
    expect(timed('container_memory_rss')).toBe(AT);
    expect(timed('container_start_time_seconds')).toBeUndefined();
    expect(timed('container_spec_cpu_shares')).toBeUndefined();
    expect(timed('machine_cpu_cores')).toBeUndefined();
  });
});
