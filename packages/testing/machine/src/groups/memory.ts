import { TestCluster } from '@kubus/harness';
import { parse } from 'yaml';
import { podsReady, treePods } from '../agent.ts';
import type { CgroupTree } from '../cgroup-tree.ts';
import { expectNone } from '../checks.ts';
import { readTree } from '../read-guest.ts';
import { setUpRuntime } from '../runtime-setup.ts';
import type { Group, Stage } from './group.ts';
import { NODE, startMember } from './member.ts';

const setup = { driver: 'systemd', containerd: '2' } as const;

const MIB = 1024 ** 2;
const PAGE = 4096;
const SWAP_MIB = 512;
/** What is reserved for the cgroups of other agents and of the system, in MiB of memory. */
const [KUBE_MIB, SYSTEM_MIB] = [200, 1024];
const FACTOR = 0.5;

/**
 * What the configuration says about memory, and about the cgroups beside the pods', as the kernel has it: MemoryQoS with a reservation
 * (KEP-2570), LimitedSwap (KEP-2400) and enforceNodeAllocatable. The pods are the API server's: static pods get no swap.
 */
export const memoryGroup: Group = {
  name: 'memory',
  about: 'MemoryQoS, LimitedSwap and reserved cgroups: the files of cgroup v2 have what the KEPs say',
  setup,
  run: async (stage) => {
    const { guest } = stage;
    await setUpRuntime(guest, setup);
    await guest.run(
      `fallocate --length ${SWAP_MIB}MiB /swap && chmod 600 /swap && mkswap --quiet /swap && swapon /swap`,
    );
    await guest.run('systemd-run --quiet --unit=other-agent --slice=otheragents.slice sleep infinity');
    const cluster = await TestCluster.open({ approve: () => true, nodeAuthorization: true, bookmarkMs: 10_000 });
    try {
      await startMember(stage, cluster, setup.driver, { flags: [], configuration });
      await run(stage, cluster);
    } finally {
      await cluster.close();
    }
  },
};

const configuration = {
  featureGates: { MemoryQoS: true },
  memoryThrottlingFactor: FACTOR,
  memoryReservationPolicy: 'TieredReservation',
  failSwapOn: false,
  memorySwap: { swapBehavior: 'LimitedSwap' },
  enforceNodeAllocatable: ['pods', 'kube-reserved', 'system-reserved-compressible'],
  kubeReserved: { cpu: '100m', memory: `${KUBE_MIB}Mi`, pid: '500' },
  systemReserved: { cpu: '200m', memory: `${SYSTEM_MIB}Mi` },
  kubeReservedCgroup: '/otheragents.slice',
  systemReservedCgroup: '/system.slice',
};

async function run({ guest, checks }: Stage, { api, server }: TestCluster): Promise<void> {
  const pods = [...(await treePods()).values()].map((text) => parse(text) as { metadata: object; spec: object });
  await checks.check('all pods become Ready', async () => {
    if (server !== undefined) {
      await api.create({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default', namespace: 'default' },
      });
    }
    for (const { metadata, spec } of pods) {
      await api.create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...metadata, namespace: 'default' },
        spec: { ...spec, nodeName: NODE, automountServiceAccountToken: false },
      });
    }
    await podsReady(guest, pods.length);
  });
  const tree = await readTree(guest, setup, 'Kubus');
  await checks.check('memory of pods is protected and throttled as KEP-2570 says', () => {
    expectNone('differences', differences(tree, memoryFiles(tree)));
    return Promise.resolve();
  });
  await checks.check('swap is limited as KEP-2400 says', async () => {
    const swap = Number(await guest.run("awk '/^SwapTotal/{print $2 * 1024}' /proc/meminfo"));
    expectNone('differences', differences(tree, swapFiles(tree, swap)));
  });
  await checks.check('the cgroups of other programs have what is reserved for them', async () => {
    const text = await guest.run(
      'cd /sys/fs/cgroup && grep -H "" otheragents.slice/{memory.max,memory.min,pids.max,cpu.weight} system.slice/{memory.max,cpu.weight}',
    );
    const expected = [
      `otheragents.slice/memory.max:${KUBE_MIB * MIB}`,
      `otheragents.slice/memory.min:${KUBE_MIB * MIB}`,
      'otheragents.slice/pids.max:500',
      // 102 and 204 shares as weights.
      'otheragents.slice/cpu.weight:4',
      'system.slice/memory.max:max',
      'system.slice/cpu.weight:8',
    ];
    const found = text.trim().split('\n');
    expectNone(
      'differences',
      expected.filter((line) => !found.includes(line)).map((line) => `expected ${line}, found ${found.join(' ')}`),
    );
  });
  await checks.check('metrics show what is protected, and the swap of the node and of containers', async () => {
    const agent = await guest.run('curl --silent --fail http://127.0.0.1:10255/metrics');
    const resource = await guest.run('curl --silent --fail http://127.0.0.1:10255/metrics/resource');
    const cadvisor = await guest.run('curl --silent --fail http://127.0.0.1:10255/metrics/cadvisor');
    const lines = [
      [agent, `kubelet_memory_qos_node_memory_min_bytes ${64 * MIB}`],
      [agent, `kubelet_memory_qos_node_memory_low_bytes ${BURSTABLE_MIB * MIB}`],
      [resource, 'node_swap_usage_bytes'],
      [resource, 'container_swap_usage_bytes'],
      [resource, 'container_swap_limit_bytes'],
      [cadvisor, 'container_pressure_memory_waiting_seconds_total'],
    ] as const;
    const lacking = lines.filter(([text, line]) => {
      const [name = '', value = ''] = line.split(' ');
      return !new RegExp(`^${name}(\\{.*\\})? ${value}`, 'm').test(text);
    });
    expectNone(
      'metrics that are missing',
      lacking.map(([, line]) => line),
    );
  });
}

/** Expected contents of files, by `POD/CONTAINER` (or the pod alone, or a path) and file. */
type Expected = readonly (readonly [where: string, file: string, value: number | 'max'])[];

/** What the burstable pods request, in MiB. */
const BURSTABLE_MIB = 48 + 32 + 48 + 32;

/** Requests are protected; what lies between them and the limit (or what all pods may use) is throttled from its half on. */
function memoryFiles(tree: CgroupTree): Expected {
  const allocatable = tree.node.memory - (KUBE_MIB + SYSTEM_MIB) * MIB;
  const half = (from: number, to: number) => Math.floor((from + (to - from) * FACTOR) / PAGE) * PAGE;
  return [
    ['kubepods.slice', 'memory.max', allocatable],
    ['kubepods.slice', 'memory.min', (64 + BURSTABLE_MIB) * MIB],
    ['kubepods-burstable.slice', 'memory.low', BURSTABLE_MIB * MIB],
    ['guaranteed', 'memory.min', 64 * MIB],
    ['guaranteed/main', 'memory.min', 64 * MIB],
    ['guaranteed/main', 'memory.high', 'max'],
    ['burstable-limits', 'memory.low', 48 * MIB],
    ['burstable-limits/main', 'memory.low', 16 * MIB],
    ['burstable-limits/main', 'memory.high', 40 * MIB],
    // Its request is its limit.
    ['burstable-limits/second', 'memory.low', 32 * MIB],
    ['burstable-limits/second', 'memory.high', 'max'],
    ['burstable-requests', 'memory.low', 32 * MIB],
    ['burstable-requests/main', 'memory.high', half(32 * MIB, allocatable)],
    ['burstable-requests/free', 'memory.low', 0],
    ['burstable-requests/free', 'memory.high', 'max'],
    ['init-and-sidecar', 'memory.low', 48 * MIB],
    ['init-and-sidecar/sidecar', 'memory.low', 16 * MIB],
    ['init-and-sidecar/sidecar', 'memory.high', 24 * MIB],
    ['pod-level', 'memory.low', 32 * MIB],
    ['besteffort', 'memory.low', 0],
    ['besteffort/main', 'memory.high', 'max'],
  ];
}

/** A burstable container with a request below its limit has the share of the swap that it requests of the memory; others have none. */
function swapFiles({ node }: CgroupTree, swap: number): Expected {
  const share = (request: number) => Math.floor(Math.trunc((request / node.memory) * swap) / PAGE) * PAGE;
  return [
    ['burstable-limits/main', 'memory.swap.max', share(16 * MIB)],
    ['burstable-limits/second', 'memory.swap.max', 0],
    ['burstable-requests/main', 'memory.swap.max', share(32 * MIB)],
    ['init-and-sidecar/sidecar', 'memory.swap.max', share(16 * MIB)],
    ['guaranteed/main', 'memory.swap.max', 0],
    ['besteffort/main', 'memory.swap.max', 0],
  ];
}

/** Where the cgroups are not as expected. */
function differences({ cgroups }: CgroupTree, expected: Expected): string[] {
  return expected.flatMap(([where, file, value]) => {
    const [pod = '', container] = where.split('/');
    const end = container === undefined ? `pod:${pod}.slice` : `pod:${pod}.slice/cri-containerd-${container}.scope`;
    const found = Object.entries(cgroups).find(([path]) => path.endsWith(end) || path.endsWith(where));
    const content = found?.[1][file];
    return content === String(value) ? [] : [`${where} ${file}: expected ${value}, found ${content ?? 'no such file'}`];
  });
}
