// A node-agent that evicts, as the other services see it; pods, signals and figures are the test's, and no container runs. Made anew before each test of a file that imports it.
import { beforeEach } from '@jest/globals';
import type { FactOwner } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import {
  type EvictionDecision,
  type NodeEvent,
  type Pod,
  type PodFailure,
  type PodRef,
  type PodWork,
  type PodWorkerReport,
  type RuntimePod,
  evictPod,
  freeImages,
  nodeAgentEvent,
  podRefOf,
  podWork,
  podWorker,
  runtimePod,
} from '@kubus/contracts';
import { type Disks, type Observations, type Signal, parseThresholds } from '@kubus/eviction';
import type { PodReading } from '@kubus/node-metrics';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { EventRecorder } from '@kubus/service-kit';
import { ActivePods } from '../src/pressure/active-pods.ts';
import { Eviction } from '../src/pressure/eviction.ts';
import { PressureQuery } from '../src/pressure/pressure-query.ts';
import { PressureWatch } from '../src/pressure/pressure-watch.ts';
import { NAME } from './member.ts';

export const MI = 1024 * 1024;
const since = '2030-01-01T00:00:00.000Z';

export let clock: ManualClock;
export let broker: LocalBroker;
export let works: FactOwner<PodWork>;
let workers: FactOwner<PodWorkerReport>;
export let runtimes: FactOwner<RuntimePod>;
/** What sync-loop was asked to end. */
export let asked: { uid: string; graceSeconds: number; failure: PodFailure }[];
/** The reasons that these requests gave. */
export let decisions: (EvictionDecision | undefined)[];
export let refused: Set<string>;
/** MiB, and percent of the disk. */
export let left: { memory: number; disk: number };
export let removals: number;
export let usage: PodReading[];

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  broker = new LocalBroker(NAME);
  [asked, decisions, refused, usage, removals] = [[], [], new Set(), [], 0];
  left = { memory: 1000, disk: 50 };
  const { bus } = broker.join('sync-loop', clock);
  works = bus.owner(podWork);
  bus.serve(evictPod, ({ key, request: { failure, graceSeconds, decision } }) => {
    const evicted = !refused.has(key);
    if (evicted) asked.push({ uid: key, graceSeconds, failure });
    if (evicted) decisions.push(decision);
    return Promise.resolve({ evicted });
  });
  workers = broker.join('pod-workers', clock).bus.owner(podWorker);
  const bridge = broker.join('cri-bridge', clock).bus;
  runtimes = bridge.owner(runtimePod);
  bridge.serve(freeImages, () => {
    removals += 1;
    left.disk += 10;
    return Promise.resolve({ images: 1, bytes: 4096 });
  });
});

export const podRef = (uid: string): PodRef => ({ namespace: 'default', name: uid, uid });

/** A running pod that uses these MiB of memory. */
export function runs(uid: string, memory: number, spec: Partial<Pod['spec']> = {}): void {
  const pod = makePod({ containers: [{ name: 'c' }], ...spec }, { uid, name: uid });
  const ref = podRefOf(pod);
  const work: PodWork = {
    ref,
    pod,
    source: 'api',
    work: 'sync',
    reason: '',
    worker: 'pod-workers-0',
    firstSeen: since,
  };
  works.put(uid, work);
  workers.put(uid, { ref, state: 'syncing', since });
  const bytes = { usageBytes: 0, workingSetBytes: memory * MI, rssBytes: 0, faults: { all: 0, major: 0 } };
  const cgroup = { path: `/${uid}`, atMs: 0, startedAtMs: 0, nanoCores: 0, usage: { cpuNs: 0, memory: bytes } };
  const read = { ref, startedAtMs: 0, volumes: [], processes: 1, containers: [], cgroup };
  usage.push(read as unknown as PodReading);
}

/** Its worker has stopped and cleaned up the pod. */
export function ends(uid: string): void {
  workers.put(uid, { ref: { namespace: 'default', name: uid, uid }, state: 'terminated', cleaned: true, since });
}

export function watch(evictionHard: Record<string, string>, soft: Record<string, string> = {}): PressureWatch {
  const { bus } = broker.join('node-agent', clock);
  const pods = new ActivePods(bus);
  const eviction = new Eviction({
    ...{ bus, clock, logger: silentLogger, pods, maxPodGraceSeconds: 7, minContainerAgeMs: 0 },
    usage: () => Promise.resolve(usage),
    events: new EventRecorder({ bus, clock }).ofNode(nodeAgentEvent),
  });
  const periods = Object.fromEntries(Object.keys(soft).map((signal) => [signal, '15s']));
  const settings = { evictionHard, evictionSoft: soft, evictionSoftGracePeriod: periods, evictionMinimumReclaim: {} };
  const watching = new PressureWatch({
    ...{ bus, clock, logger: silentLogger, transitionMs: 60_000, changed: () => undefined },
    thresholds: parseThresholds(settings, { enforcesPods: false }),
    relieve: (need) => eviction.relieve(need),
    enforceLimits: (disks, signal) => eviction.enforceLimits(disks, signal),
    read: () => {
      const atMs = clock.now();
      const observations: Observations = {
        'memory.available': { available: left.memory * MI, capacity: 1000 * MI, atMs },
        'nodefs.available': { available: left.disk, capacity: 100, atMs },
      };
      return Promise.resolve({ observations, disks: 'one' });
    },
  });
  const rank = (signal: Signal, disks: Disks) => eviction.rank(signal, disks);
  new PressureQuery({ bus, transitionMs: 60_000, view: () => watching.view(), rank });
  return watching;
}

export const uids = (): string[] => asked.map(({ uid }) => uid);
export const pass = async (ms: number): Promise<void> => {
  await clock.advance(ms);
  await settled();
};
export const nodeEvents = (): string[] =>
  broker.said.flatMap(({ headers, data }) =>
    Object.values(headers).includes('node.event.recorded/1') ? [(JSON.parse(data) as NodeEvent).message] : [],
  );

/** What is measured of the pods from now on. */
export function measures(readings: PodReading[]): void {
  usage = readings;
}
