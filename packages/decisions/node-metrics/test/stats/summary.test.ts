import { describe, expect, test } from '@jest/globals';
import { type NodeReading, statsSummary } from '../../src/index.ts';
import { AT, cgroup, container, node, pod, usage } from './readings.ts';

const time = '2026-11-20T10:56:14Z';

function summaryOf(more: Partial<NodeReading> = {}, options = {}) {
  return JSON.parse(JSON.stringify(statsSummary({ ...node, ...more }, options))) as {
    node: Record<string, unknown>;
    pods: (Record<string, unknown> & { containers: Record<string, unknown>[] })[];
  };
}

describe('the summary of the node', () => {
  test('has the machine’s memory as its limit', () => {
    expect(summaryOf().node).toMatchObject({
      nodeName: 'node0',
      startTime: '2026-11-20T09:33:36Z',
      cpu: { time, usageNanoCores: 276_143, usageCoreNanoSeconds: 23_904_738 },
      memory: { availableBytes: 16 * 2 ** 30 - 650_000, workingSetBytes: 650_000, pageFaults: 1567 },
      swap: { swapAvailableBytes: 0, swapUsageBytes: 8192 },
      rlimit: { time, maxpid: 32_768, curproc: 180 },
      systemContainers: [{ name: 'pods', memory: { availableBytes: 8 * 2 ** 30 - 650_000 } }],
    });
  });

  test('has the agent, the runtime and the system’s programs in addition to the pods, as far as they are known', () => {
    const system = [
      { name: 'kubelet', cgroup: cgroup('/system.slice/kubelet.service', 1_000_000) },
      { name: 'misc', cgroup: cgroup('/system') },
    ] as const;
    const names = (less: boolean) =>
      summaryOf({ system }, { onlyCpuAndMemory: less }).node['systemContainers'] as Record<string, unknown>[];
    expect(names(false).map(({ name }) => name)).toEqual(['kubelet', 'misc', 'pods']);
    expect(names(false)[0]).toMatchObject({
      startTime: '2026-11-20T10:55:14Z',
      cpu: { usageNanoCores: 276_143, psi: { some: { avg10: 1 } } },
      memory: { availableBytes: 350_000 },
      io: { psi: { full: { total: 1_000_000 } } },
      swap: { swapUsageBytes: 8192 },
    });
    expect(Object.keys(names(true)[0] ?? {})).toEqual(['name', 'startTime', 'cpu', 'memory', 'swap']);
  });

  test('has its main interface in addition to the list of all', () => {
    expect(summaryOf().node).toMatchObject({
      network: { name: 'eth0', rxBytes: 1000, txBytes: 2000, interfaces: [{ name: 'ifb0' }, { name: 'eth0' }] },
    });
    const only = node.network?.interfaces.slice(0, 1) ?? [];
    const { network } = summaryOf({ network: { atMs: AT, interfaces: only } }).node;
    expect(network).toEqual({ time, name: '', interfaces: [expect.objectContaining({ name: 'ifb0' })] });
  });

  test('has no cgroups of pods when it has no pods', () => {
    expect(summaryOf({ tiers: [], pods: [] })).toMatchObject({ node: { systemContainers: [] }, pods: [] });
  });
});

describe('the summary of a pod', () => {
  test('has its containers, volumes and processes', () => {
    expect(summaryOf().pods).toMatchObject([
      {
        podRef: { name: 'web', namespace: 'default', uid: 'u' },
        startTime: '2026-11-20T10:55:19Z',
        containers: [{ name: 'd' }, { name: 'c', memory: { availableBytes: 66_458_864 } }],
        network: { name: 'eth0', rxErrors: 1, txErrors: 1 },
        volume: [{ name: 'e' }, { name: 'data', pvcRef: { name: 'disk', namespace: 'default' } }],
        // Two layers, two logs, and the volume that is removed with the pod.
        'ephemeral-storage': { usedBytes: 2 * 20_480 + 2 * 512 + 4096, inodesUsed: 23, capacityBytes: 1000 },
        process_stats: { process_count: 3 },
      },
    ]);
  });

  test('has no available amount without a limit', () => {
    const { memory, swap, containers } = summaryOf().pods[0] ?? { containers: [] };
    expect(memory).not.toHaveProperty('availableBytes');
    expect(swap).toEqual({ time, swapUsageBytes: 8192 });
    expect(containers[0]?.['memory']).not.toHaveProperty('availableBytes');
  });

  test('has 0 available when it uses more than its limit', () => {
    const over = { ...pod, containers: [container('c', 1000)] };
    expect(summaryOf({ pods: [over] }).pods[0]?.containers[0]).toMatchObject({ memory: { availableBytes: 0 } });
  });

  test('omits containers that have been removed meanwhile', () => {
    const gone = { ...pod, cgroup: undefined, containers: [{ ...container('c'), cgroup: undefined }] };
    const [shown] = summaryOf({ pods: [gone] }).pods;
    expect(shown).toMatchObject({ podRef: { name: 'web' }, containers: [] });
    for (const field of ['cpu', 'memory', 'io', 'swap']) expect(shown).not.toHaveProperty(field);
  });
});

test('a summary of CPU and memory contains nothing else', () => {
  const { node: ofNode, pods } = summaryOf({}, { onlyCpuAndMemory: true });
  const names = ['nodeName', 'systemContainers', 'startTime', 'cpu', 'memory', 'swap'];
  expect(Object.keys(ofNode)).toEqual(names);
  expect(Object.keys(pods[0] ?? {})).toEqual(['podRef', 'startTime', 'containers', 'cpu', 'memory', 'swap']);
  const container = ['name', 'startTime', 'cpu', 'memory', 'swap'];
  expect(Object.keys(pods[0]?.containers[0] ?? {})).toEqual(container);
});

test('a summary omits unknown values', () => {
  const bare = { ...cgroup('/'), nanoCores: undefined, usage: { ...usage(), swap: undefined } };
  const { pressures, ...rest } = bare.usage;
  expect(pressures).toBeDefined();
  const { node: shown } = summaryOf({
    root: { ...bare, usage: rest },
    fs: undefined,
    processes: undefined,
    pods: [pod],
  });
  expect(shown['cpu']).toEqual({ time, usageCoreNanoSeconds: 23_904_738 });
  for (const field of ['swap', 'fs', 'rlimit']) expect(shown).not.toHaveProperty(field);
});
