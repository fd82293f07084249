import { describe, expect, test } from '@jest/globals';
import {
  type ContainerRequest,
  type ExclusiveSettings,
  describedMachine,
  emptyLedger,
  exclusiveSetup,
  machineDescription,
} from '@kubus/exclusive';
import { Metrics } from '@kubus/service-kit';
import { type AskedPod, ExclusiveMetrics } from '../src/exclusive/exclusive-metrics.ts';

const GI = 2 ** 30;

/** Two NUMA nodes of two cores with two threads each. */
function metricsOf(topologyManagerScope: string, podLevel = false): ExclusiveMetrics {
  const machine = describedMachine(
    machineDescription.parse({
      ...{ apiVersion: 'kubus.dev/v1', kind: 'Machine' },
      sockets: [{ id: 0, cpus: '0-7' }],
      nodes: [
        { id: 0, cpus: '0-3', memory: 4 * GI },
        { id: 1, cpus: '4-7', memory: 4 * GI },
      ],
      cores: ['0-1', '2-3', '4-5', '6-7'],
    }),
  );
  if ('problem' in machine) throw new Error(machine.problem);
  const limits = { memory: GI };
  const settings: ExclusiveSettings = {
    ...{ cpuManagerPolicy: 'static', cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
    ...{ gates: { alpha: true, beta: true }, memoryManagerPolicy: 'Static' },
    ...{ topologyManagerPolicy: 'single-numa-node', topologyManagerScope },
    topologyOptions: { preferClosest: false, mostNodes: 8 },
    ...{ reservedSystemCPUs: '0-1', reservedMilliCpus: 2000, reservedBytes: limits },
    reservedMemory: [{ numaNode: 0, limits }],
  };
  const setup = exclusiveSetup(machine, settings);
  if ('problem' in setup) throw new Error(setup.problem);
  return new ExclusiveMetrics(setup, () => emptyLedger(setup), podLevel);
}

const container = (name: string, cpus: number): ContainerRequest => ({
  ...{ name, kind: 'app', cpus, memory: { memory: GI } },
});
const pod = { uid: 'p', containers: [container('one', 2), container('two', 0), container('three', 2)] };

async function lines(metrics: ExclusiveMetrics, asked: readonly AskedPod['refusal'][]): Promise<string[]> {
  for (const refusal of asked) metrics.asked({ pod, refusal, ms: 3 });
  const shown = new Metrics({});
  metrics.show(shown);
  const { text } = await shown.write();
  return text
    .split('\n')
    .filter((line) => /^kubelet_(\w+_(total|duration_ms_count)|\w+aligned\w+\{.*) [1-9]/.test(line));
}

test('an admitted pod counts with each container', async () => {
  expect(await lines(metricsOf('container'), [undefined])).toEqual([
    'kubelet_cpu_manager_pinning_requests_total 2',
    'kubelet_memory_manager_pinning_requests_total 3',
    'kubelet_topology_manager_admission_requests_total 1',
    'kubelet_topology_manager_admission_duration_ms_count 1',
    'kubelet_container_aligned_compute_resources_count{scope="container",boundary="numa_node"} 3',
    'kubelet_container_aligned_compute_resources_count{scope="container",boundary="physical_cpu"} 2',
  ]);
});

test.each([
  ['cpu', ['2 1', '2 0', '2', '1 1']],
  ['memory', ['2 0', '3 1', '2', '2 0']],
  ['topology', ['1 0', '2 0', '2', '1 0']],
] as const)(
  'of a pod that is refused by %s at its last container, the managers have seen no more',
  async (by, expected) => {
    const metrics = metricsOf('container');
    metrics.asked({ pod, refusal: { by, container: 'three' }, ms: 3 });
    const shown = new Metrics({});
    metrics.show(shown);
    const { text } = await shown.write();
    const of = (name: string) => new RegExp(`^kubelet_${name} (\\d+)$`, 'm').exec(text)?.[1];
    const pairs = ['cpu', 'memory'].map(
      (one) => `${of(`${one}_manager_pinning_requests_total`)} ${of(`${one}_manager_pinning_errors_total`)}`,
    );
    const aligned = (what: string, boundary: string) =>
      of(`container_aligned_compute_resources_${what}{scope="container",boundary="${boundary}"}`);
    const cores = `${aligned('count', 'physical_cpu')} ${aligned('failure_count', 'physical_cpu')}`;
    expect([...pairs, aligned('count', 'numa_node'), cores]).toEqual(expected);
    expect(of('topology_manager_admission_errors_total')).toBe('1');
    expect(aligned('failure_count', 'numa_node')).toBe(by === 'topology' ? '1' : '0');
  },
);

test('with the scope pod a pod counts as a whole, and one without devices as refused', async () => {
  const refused = { by: 'topology', container: undefined } as const;
  expect(await lines(metricsOf('pod'), [refused, 'devices', undefined])).toEqual([
    'kubelet_cpu_manager_pinning_requests_total 2',
    'kubelet_memory_manager_pinning_requests_total 3',
    'kubelet_topology_manager_admission_requests_total 3',
    'kubelet_topology_manager_admission_errors_total 2',
    'kubelet_topology_manager_admission_duration_ms_count 3',
    'kubelet_container_aligned_compute_resources_count{scope="pod",boundary="numa_node"} 1',
    'kubelet_container_aligned_compute_resources_count{scope="container",boundary="physical_cpu"} 2',
    'kubelet_container_aligned_compute_resources_failure_count{scope="pod",boundary="numa_node"} 1',
  ]);
});

describe('of a pod that gets its CPUs and memory as a whole', () => {
  const init: ContainerRequest = { name: 'init', kind: 'init', cpus: 0, memory: {} };
  const shares: ContainerRequest = { name: 'shares', kind: 'app', cpus: 0, memory: {} };
  const request = {
    ...{ uid: 'p', containers: [init, container('one', 2), shares] },
    whole: { cpus: 4, memory: { memory: 2 * GI } },
  };

  async function counted(scope: string, refusal: AskedPod['refusal']): Promise<string[]> {
    const metrics = metricsOf(scope, true);
    metrics.asked({ pod: request, refusal, ms: 3 });
    const shown = new Metrics({});
    metrics.show(shown);
    const { text } = await shown.write();
    return text
      .split('\n')
      .filter((line) => /^(resource_manager|kubelet_(cpu|memory)_manager_pinning)\S+ [1-9]/.test(line));
  }

  test('the parts of its containers count', async () => {
    expect(await counted('pod', undefined)).toEqual([
      'resource_manager_allocations_total{resource_name="cpu",source="pod"} 3',
      'resource_manager_allocations_total{resource_name="memory",source="pod"} 3',
      'resource_manager_container_assignments{resource_name="cpu",assignment_type="pod_shared"} 2',
      'resource_manager_container_assignments{resource_name="cpu",assignment_type="pod_exclusive"} 1',
      'resource_manager_container_assignments{resource_name="memory",assignment_type="pod_shared"} 2',
      'resource_manager_container_assignments{resource_name="memory",assignment_type="pod_exclusive"} 1',
      'kubelet_cpu_manager_pinning_requests_total 1',
      'kubelet_memory_manager_pinning_requests_total 3',
    ]);
  });

  test('what is refused counts with the manager that refuses it', async () => {
    expect(await counted('pod', { by: 'cpu', container: undefined })).toEqual([
      'resource_manager_allocation_errors_total{resource_name="cpu",source="pod"} 1',
      'kubelet_cpu_manager_pinning_errors_total 1',
    ]);
    expect(await counted('pod', { by: 'topology', container: undefined })).toEqual([]);
  });

  test('where its containers are aligned on their own, what they get is of the node', async () => {
    expect(await counted('container', undefined)).toEqual([
      'resource_manager_allocations_total{resource_name="cpu",source="node"} 1',
      'resource_manager_allocations_total{resource_name="memory",source="node"} 1',
      'resource_manager_container_assignments{resource_name="cpu",assignment_type="node_exclusive"} 1',
      'resource_manager_container_assignments{resource_name="memory",assignment_type="node_exclusive"} 3',
      'kubelet_cpu_manager_pinning_requests_total 1',
      'kubelet_memory_manager_pinning_requests_total 3',
    ]);
  });
});
