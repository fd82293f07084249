import type { Labels, MetricFamily, MetricSample } from '@kubus/metrics';
import type { CgroupReading, NodeReading } from './reading.ts';

const NS = 1e9;

/** The value for one cgroup; undefined where it is unknown. */
type Value = (reading: CgroupReading) => number | undefined;

const cpuSeconds: Value = ({ usage }) => usage.cpuNs / NS;
const workingSet: Value = ({ usage }) => usage.memory.workingSetBytes;
const swapUsage: Value = ({ usage }) => usage.swap?.bytes;
const swapLimit: Value = ({ usage }) => usage.swap?.limitBytes;

interface Labelled {
  readonly labels: Labels;
  readonly reading: CgroupReading;
}

/** The families of `/metrics/resource` (behaviour:resource-metrics), with the time of each reading. */
export function resourceMetrics({ root, pods }: NodeReading): MetricFamily[] {
  const node: Labelled[] = [{ labels: {}, reading: root }];
  const podRows: Labelled[] = [];
  const containerRows: Labelled[] = [];
  const starts: MetricSample[] = [];
  for (const { ref, cgroup, containers } of pods) {
    const { namespace, name: pod } = ref;
    if (cgroup !== undefined) podRows.push({ labels: { namespace, pod }, reading: cgroup });
    for (const { name, cgroup: reading, startedAtMs } of containers) {
      if (reading === undefined) continue;
      const labels = { container: name, namespace, pod };
      containerRows.push({ labels, reading });
      starts.push({ labels, value: startedAtMs / 1000 });
    }
  }
  const cpuHelp = (whose: string) => `Cumulative cpu time consumed by the ${whose} in core-seconds`;
  const memoryHelp = (whose: string) => `Current working set of the ${whose} in bytes`;
  const swapHelp = (whose: string) => `Current swap usage of the ${whose} in bytes`;
  return [
    family('container_cpu_usage_seconds_total', cpuHelp('container'), containerRows, cpuSeconds),
    family('container_memory_working_set_bytes', memoryHelp('container'), containerRows, workingSet),
    {
      name: 'container_start_time_seconds',
      help: 'Start time of the container since unix epoch in seconds',
      type: 'gauge',
      samples: starts,
    },
    family(
      'container_swap_limit_bytes',
      'Amount of swap that the container may use in bytes',
      containerRows,
      swapLimit,
    ),
    family('container_swap_usage_bytes', swapHelp('container'), containerRows, swapUsage),
    family('node_cpu_usage_seconds_total', cpuHelp('node'), node, cpuSeconds),
    family('node_memory_working_set_bytes', memoryHelp('node'), node, workingSet),
    family('node_swap_usage_bytes', swapHelp('node'), node, swapUsage),
    family('pod_cpu_usage_seconds_total', cpuHelp('pod'), podRows, cpuSeconds),
    family('pod_memory_working_set_bytes', memoryHelp('pod'), podRows, workingSet),
    family('pod_swap_usage_bytes', swapHelp('pod'), podRows, swapUsage),
    {
      name: 'resource_scrape_error',
      help: '1 if there was an error while getting container metrics, 0 otherwise',
      type: 'gauge',
      samples: [{ labels: {}, value: 0 }],
    },
  ];
}

function family(name: string, help: string, rows: readonly Labelled[], value: Value): MetricFamily {
  const samples: MetricSample[] = [];
  for (const { labels, reading } of rows) {
    const shown = value(reading);
    if (shown !== undefined) samples.push({ labels, value: shown, timestampMs: reading.atMs });
  }
  return { name, help, type: name.endsWith('_total') ? 'counter' : 'gauge', samples };
}
