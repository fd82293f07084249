import type { Bus } from '@kubus/bus';
import {
  type AnyFact,
  CONFIG_SOURCE,
  type ClusterNode,
  type Pod,
  allocateDevices,
  clusterNode,
  configuredSources,
  cpuPool,
  desiredPods,
  deviceAllocation,
  deviceResource,
  nodeAgentEvent,
  nodePressure,
  nodeTopology,
  podWork,
  podWorker,
  prepareClaims,
  readPressure,
  runtimePod,
  serviceContracts,
  unprepareClaims,
} from '@kubus/contracts';
import { parseThresholds } from '@kubus/eviction';
import { ActivePods, Eviction, PressureWatch } from '@kubus/node-agent/pressure';
import type { PodReading } from '@kubus/node-metrics';
import { type Clock, type Logger, sleep } from '@kubus/ports';
import { EventRecorder } from '@kubus/service-kit';
import { type NodeMemory, THRESHOLD } from './node-memory.ts';
import type { ProcessGuard } from './process-guard.ts';

/** How long a condition lasts after its reason, in milliseconds. */
const TRANSITION_MS = 5_000;

const NO_MEMORY = {
  ...{ usageBytes: 0, rssBytes: 0, cacheBytes: 0, mappedBytes: 0, activeFileBytes: 0, inactiveFileBytes: 0 },
  ...{ limitBytes: undefined, faults: { all: 0, major: 0 } },
};

/** The pods of the folder as if they were the API server's: static pods are never evicted. */
class EvictablePods extends ActivePods {
  override get active(): readonly Pod[] {
    return super.active.map(({ metadata, ...pod }) => {
      const annotations = { ...metadata.annotations, [CONFIG_SOURCE]: 'api' };
      return { ...pod, metadata: { ...metadata, annotations } };
    });
  }
}

/** The part of node-agent that watches what the node is short of and evicts pods: its own code, on the figures of a model. */
export function startAgent(options: {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly guard: ProcessGuard;
  readonly memory: NodeMemory;
  /** The Node object; undefined: the node is in no cluster. */
  readonly node: ClusterNode | undefined;
  /** Something else gives containers CPUs, memory and devices for themselves. */
  readonly withThings: boolean;
}): void {
  const { bus, clock, logger, guard, memory, node, withThings } = options;
  leaveOut(bus, withThings);
  const nodes = bus.owner(clusterNode);
  if (node !== undefined) nodes.put(node.name, node);
  nodes.complete();
  const pods = new EvictablePods(bus);
  const eviction = new Eviction({
    ...{ bus, clock, logger, pods, maxPodGraceSeconds: 0, minContainerAgeMs: 0 },
    // Figures take time, in which their pods may end, and the process too.
    usage: () => guard.promise(sleep(clock, 5).then(() => pods.runtimePods().map((pod) => readingOf(pod.ref, memory)))),
    events: new EventRecorder({ bus, clock }).ofNode(nodeAgentEvent),
  });
  const settings = { evictionHard: { 'memory.available': `${THRESHOLD}Mi` }, evictionSoft: {} };
  new PressureWatch({
    ...{ bus, clock, logger, transitionMs: TRANSITION_MS, changed: () => undefined },
    thresholds: parseThresholds(
      { ...settings, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} },
      { enforcesPods: false },
    ),
    read: () =>
      guard.promise(
        Promise.resolve({ observations: { 'memory.available': memory.read(clock.now()) }, disks: 'one' as const }),
      ),
    relieve: (need) => eviction.relieve(need),
  });
}

/** The other messages of node-agent, which the simulated one neither reads nor publishes. */
function leaveOut(bus: Bus, withThings: boolean): void {
  const { owns, reads } = serviceContracts['node-agent'];
  const ofThings = [
    configuredSources,
    ...Object.values(desiredPods),
    cpuPool,
    deviceAllocation,
    deviceResource,
    nodeTopology,
  ];
  const used: readonly AnyFact[] = [
    clusterNode,
    nodePressure,
    podWork,
    podWorker,
    runtimePod,
    ...(withThings ? ofThings : []),
  ];
  for (const fact of reads) if (!used.includes(fact)) bus.reader(fact);
  for (const fact of owns) if (!used.includes(fact)) bus.owner(fact).complete();
  if (!withThings) bus.serve(allocateDevices, () => Promise.resolve({ containers: {} }));
  bus.serve(prepareClaims, () => Promise.resolve({ claims: [] }));
  bus.serve(unprepareClaims, () => Promise.resolve({}));
  bus.serve(readPressure, () => Promise.resolve({ signals: [], thresholds: [], conditions: [], transitionSeconds: 0 }));
}

function readingOf(ref: PodReading['ref'], memory: NodeMemory): PodReading {
  const workingSetBytes = memory.usedBy(ref.uid);
  return {
    ...{ ref, startedAtMs: 0, processes: 1, containers: [], volumes: [] },
    cgroup: {
      ...{ path: `/${ref.uid}`, atMs: 0, startedAtMs: 0, nanoCores: 0 },
      usage: { cpuNs: 0, swap: undefined, memory: { ...NO_MEMORY, workingSetBytes } },
    },
  };
}
