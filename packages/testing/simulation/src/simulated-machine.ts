import { type TopologyScope, topologyPolicies } from '@kubus/device-manager';
import type { ExclusiveSettings, Machine } from '@kubus/exclusive';
import type { Random } from '@kubus/ports';
import { podLevelOf } from '@kubus/service-kit';

const MI = 1024 * 1024;
const GI = 1024 * MI;

/** The resource of the machine's devices, and the devices by NUMA node. */
export const DEVICE = 'example.com/device';
export const DEVICES = ['device-0', 'device-1'] as const;

/** Two NUMA nodes, each with three CPUs, 512 MiB in huge pages and 3.5 GiB of other memory. */
export const MACHINE: Machine = {
  cpus: Array.from({ length: 6 }, (_, id) => ({ id, core: id, socket: 0, node: id < 3 ? 0 : 1, cache: 0 })),
  nodes: DEVICES.map((_, id) => ({
    id,
    memory: 4 * GI,
    distances: id === 0 ? [10, 20] : [20, 10],
    hugePages: [{ size: 2 * MI, count: 256 }],
  })),
  sockets: 1,
};

/** What of the machine is for pods: one CPU and 1 GiB of the first NUMA node are the system's. */
export const ALLOCATABLE = { cpu: '5', memory: '6Gi', 'hugepages-2Mi': '1Gi' };

/** How containers get CPUs, memory and devices for themselves. */
export interface ThingsPolicy {
  readonly topology: (typeof topologyPolicies)[number];
  readonly scope: TopologyScope;
}

/** Where pods with resources of their own have theirs: each container on its own, or the pod as a whole. */
export type WholeLevel = NonNullable<ReturnType<typeof podLevelOf>>;

export function wholeLevel({ topology, scope }: ThingsPolicy): WholeLevel {
  const devices = { topologyPolicy: topology, topologyScope: scope };
  return podLevelOf({ exclusive: { podLevel: true }, devices }) ?? 'container';
}

/** What of the machine containers can have for themselves. */
export interface OwnThings {
  readonly cpus: boolean;
  readonly memory: boolean;
  readonly podLevel: WholeLevel;
  readonly withoutQuota: boolean;
  readonly reconcileMs: number;
}

export function ownThings(policy: ThingsPolicy): OwnThings {
  return { cpus: true, memory: true, podLevel: wholeLevel(policy), withoutQuota: true, reconcileMs: 10_000 };
}

/** How many schedules have containers with things of their own. */
const OFTEN = 0.25;

/** @param isWanted default: drawn, too */
export function drawThings(random: Random, isWanted = random.chance(OFTEN)): ThingsPolicy | undefined {
  if (!isWanted) return undefined;
  return { topology: random.pick(topologyPolicies), scope: random.pick(['container', 'pod'] as const) };
}

export function exclusiveSettings({ topology, scope }: ThingsPolicy): ExclusiveSettings {
  return {
    ...{ cpuManagerPolicy: 'static', cpuManagerPolicyOptions: {}, gates: { alpha: false, beta: true } },
    ...{ memoryManagerPolicy: 'Static', topologyManagerPolicy: topology, topologyManagerScope: scope },
    topologyOptions: { preferClosest: false, mostNodes: 8 },
    ...{ reservedSystemCPUs: '0', reservedMilliCpus: 1_000, reservedBytes: { memory: GI } },
    reservedMemory: [{ numaNode: 0, limits: { memory: GI } }],
  };
}
