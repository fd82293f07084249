import { type LocalMember, LocalBroker } from '@kubus/bus/testing';
import type { FactOwner } from '@kubus/bus';
import {
  type ClusterNode,
  type NetworkCondition,
  type NodeEvent,
  type Pod,
  type PodEvent,
  type PodProbes,
  type PodStatusReport,
  type PodVolumes,
  type PodWork,
  type PodWorkerReport,
  type RuntimeCondition,
  type ServiceShare,
  type PreparedClaim,
  type SubPathsRequest,
  allocateDevices,
  claimUse,
  clusterNode,
  cpuPool,
  deviceAllocation,
  deviceResource,
  networkCondition,
  nodePressure,
  podProbes,
  podRefOf,
  podVolumes,
  podWork,
  prepareClaims,
  prepareSubPaths,
  runtimeCondition,
  serviceShare,
  unprepareClaims,
} from '@kubus/contracts';
import { podLimits } from '@kubus/cgroup-config';
import type { SeccompSettings } from '@kubus/container-config';
import { KubusError, silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import type { CrashLoopOptions, DeadContainerPolicy } from '@kubus/pod-lifecycle';
import { type HookRequest, PodWorkers } from '../src/index.ts';
import { ScriptedBridge } from './scripted-bridge.ts';
import { ScriptedFiles } from './scripted-files.ts';

export const NODE = 'node0';
export const runtimeReady: RuntimeCondition = {
  ready: true,
  name: 'containerd',
  network: 'cni-bridge',
  networkReady: false,
  events: 'containerd',
};

/** A node around pod-workers: the test plays the services that it communicates with. */
export class ScriptedNode {
  readonly clock = new ManualClock();
  readonly broker = new LocalBroker(NODE);
  readonly records = new MemoryRecords();
  readonly bridge: ScriptedBridge;
  readonly files = new ScriptedFiles();
  /** The requests of httpGet handlers. */
  readonly requests: HookRequest[] = [];
  /** The outcome of such a request. */
  answer: (signal: AbortSignal) => Promise<{ fellBack: boolean }> = () => Promise.resolve({ fellBack: false });
  /** The volume manager's answer to requests for parts of volumes. */
  subPaths: (request: SubPathsRequest) => Promise<Record<string, string>> = () => Promise.resolve({});
  /** The error with which creating a pod's cgroup fails. */
  cgroupFailure: Error | undefined;
  /** What the removal of a cgroup waits for. */
  cgroupRemoval: Promise<unknown> = Promise.resolve();
  /** Bytes of memory that each pod uses. */
  memoryUsage = 0n;
  /** Counts from the next start of the workers. */
  seccomp: SeccompSettings | undefined;
  machine: Pick<Parameters<typeof PodWorkers.start>[0], 'kernel' | 'enforcement' | 'exclusive'> = {};
  clusterDns: readonly string[] = ['192.0.2.53'];
  /** Delays between restarts; omitted: the reference kubelet's. */
  crashLoop: CrashLoopOptions = {};
  /** Omitted: the reference kubelet's. */
  deadContainers: DeadContainerPolicy | undefined;
  readonly #works: FactOwner<PodWork>;
  readonly #networks: FactOwner<NetworkCondition>;
  readonly #runtimes: FactOwner<RuntimeCondition>;
  readonly #probes: FactOwner<PodProbes>;
  readonly #volumes: FactOwner<PodVolumes>;
  readonly #shares: FactOwner<ServiceShare>;
  readonly #nodeAgent = this.broker.join('node-agent', this.clock).bus;
  readonly #clusterNodes = this.#nodeAgent.owner(clusterNode);
  readonly #pressures = this.#nodeAgent.owner(nodePressure);
  readonly #deviceResources = this.#nodeAgent.owner(deviceResource);
  readonly #deviceAllocations = this.#nodeAgent.owner(deviceAllocation);
  readonly #claimUses = this.#nodeAgent.owner(claimUse);
  readonly #cpuPools = this.#nodeAgent.owner(cpuPool);
  /** The containers that are allocated something for themselves, as often as node-agent is asked about them, by name. */
  readonly asked: string[] = [];
  /** What each container has for itself, by name. */
  cpusets: Record<string, { cpus?: string; mems?: string }> = {};
  /** The containers of which node-agent is asked whether what they were given is still there, by name. */
  readonly lost: string[] = [];
  /** Why it is not. */
  lostProblem: string | undefined;
  /** The claims that node-agent prepares; a text: why it does not. */
  claims: readonly PreparedClaim[] | string = [];
  /** What is asked for the claims of pods: `prepare`, `start` for a container, `unprepare`. */
  readonly claimed: string[] = [];
  /** By slot. */
  readonly #lives = new Map<number, { member: LocalMember; workers: PodWorkers }>();
  #epoch = 0;

  constructor() {
    const bridge = this.broker.join('cri-bridge', this.clock).bus;
    this.bridge = new ScriptedBridge(bridge, this.clock);
    this.#works = this.broker.join('sync-loop', this.clock).bus.owner(podWork);
    this.#networks = this.broker.join('cni-bridge', this.clock).bus.owner(networkCondition);
    this.#runtimes = bridge.owner(runtimeCondition);
    this.#probes = this.broker.join('prober', this.clock).bus.owner(podProbes);
    const volumeManager = this.broker.join('volume-manager', this.clock).bus;
    this.#volumes = volumeManager.owner(podVolumes);
    volumeManager.serve(prepareSubPaths, async ({ request }) => ({ paths: await this.subPaths(request) }));
    this.#nodeAgent.serve(allocateDevices, ({ request: { lost, starting = '' } }) => {
      if (lost !== undefined) this.lost.push(lost);
      else this.asked.push(starting);
      if (lost !== undefined && this.lostProblem !== undefined) {
        return Promise.reject(new KubusError('UnexpectedAdmissionError', this.lostProblem));
      }
      const cpuset = this.cpusets[starting];
      const none = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };
      return Promise.resolve({ containers: cpuset === undefined ? {} : { [starting]: { ...none, cpuset } } });
    });
    this.#nodeAgent.serve(prepareClaims, ({ request: { started } }) => {
      this.claimed.push(started ? 'start' : 'prepare');
      if (typeof this.claims === 'string') throw new KubusError('claims', this.claims);
      return Promise.resolve({ claims: [...this.claims] });
    });
    this.#nodeAgent.serve(unprepareClaims, () => {
      this.claimed.push('unprepare');
      if (typeof this.claims === 'string') throw new KubusError('claims', this.claims);
      return Promise.resolve({});
    });
    this.#shares = this.broker.join('launcher', this.clock).bus.owner(serviceShare);
    this.setRuntime(runtimeReady);
    this.setNetwork(true);
  }

  /** What was done to files and cgroups. */
  get undone(): string[] {
    return this.files.undone;
  }

  get workers(): PodWorkers {
    return this.instance(0);
  }

  instance(slot: number): PodWorkers {
    const life = this.#lives.get(slot);
    if (life === undefined) throw new Error(`pod-workers-${slot} is not running`);
    return life.workers;
  }

  /** Starts an instance of pod-workers, with a new epoch after an earlier process. */
  async start(slot = 0): Promise<void> {
    const member = this.broker.join('pod-workers', this.clock, ++this.#epoch, slot);
    const { bus } = member;
    const workers = await PodWorkers.start({
      bus,
      clock: this.clock,
      ids: { hex: (bytes) => '0'.repeat(2 * bytes), fraction: () => 0 },
      logger: silentLogger,
      records: this.records,
      share: { instances: ['pod-workers-0'], term: 0 },
      files: this.files,
      cgroups: {
        ensure: (pod) => {
          const { cpuShares, cpu, memory } = podLimits(pod);
          const quota = typeof cpu === 'object' ? cpu.quotaUs : '-';
          this.bridge.cgroup(`${String(cpuShares)} ${quota} ${typeof memory === 'bigint' ? memory : '-'}`);
          return this.cgroupFailure === undefined ? Promise.resolve() : Promise.reject(this.cgroupFailure);
        },
        parent: (uid, qos) => `/kubepods/${qos}/${uid}`,
        memoryUsage: () => Promise.resolve(this.memoryUsage),
        remove: async (uid) => {
          await this.cgroupRemoval;
          this.undone.push(`cgroup ${uid}`);
        },
      },
      hooks: {
        get: (request, signal) => {
          this.requests.push(request);
          return this.answer(signal);
        },
      },
      nextEpoch: () => ++this.#epoch,
      nodeIps: ['192.0.2.1'],
      dns: { clusterDns: this.clusterDns, clusterDomain: 'cluster.local' },
      seccomp: this.seccomp,
      ...this.machine,
      memoryCapacity: 1_000_000_000n,
      allocatable: { cpu: '2', memory: '1000000000' },
      crashLoop: this.crashLoop,
      deadContainers: this.deadContainers,
      syncEveryMs: 60_000,
    });
    this.#lives.set(slot, { member, workers });
    bus.announce({ version: '0', pid: slot + 1, startedAt: new Date(this.clock.now()).toISOString() });
    await this.quiet();
  }

  /** Ends an instance of pod-workers abruptly. */
  kill(slot = 0): void {
    const life = this.#lives.get(slot);
    life?.member.leave();
    life?.workers.stop();
    this.#lives.delete(slot);
  }

  /** Publishes the work of a pod. */
  async work(pod: Pod, changes: Partial<PodWork> = {}): Promise<void> {
    const ref = podRefOf(pod);
    const firstSeen = new Date(this.clock.now()).toISOString();
    const work = {
      ref,
      pod,
      source: 'file',
      work: 'sync',
      reason: 'test',
      worker: 'pod-workers-0',
      firstSeen,
    } as const;
    this.#works.put(ref.uid, { ...work, ...changes }, { pod: ref.uid });
    await this.quiet();
  }

  /** Removes the work of a pod. */
  async noWork(uid: string): Promise<void> {
    this.#works.remove(uid, { pod: uid });
    await this.quiet();
  }

  /** Publishes that all work is known. */
  async allWork(): Promise<void> {
    this.#works.complete();
    await this.quiet();
  }

  /** Publishes which instances share the pods, as the launcher does. */
  async share(slots: readonly number[], term: number): Promise<void> {
    this.#shares.put('pod-workers', { instances: slots.map((slot) => `pod-workers-${slot}`), term });
    await this.quiet();
  }

  setRuntime(condition: RuntimeCondition): void {
    this.#runtimes.put('runtime', condition);
  }

  setClusterNode(said: Pick<ClusterNode, 'addresses' | 'allocatable'>): void {
    this.#clusterNodes.put(NODE, {
      ...{ name: NODE, uid: 'n', resourceVersion: '1', labels: {}, annotations: {}, taints: [], unschedulable: false },
      ...{ podCIDRs: [], capacity: {}, deleting: false, volumesInUse: [], volumesAttached: [], ...said },
    });
  }

  setNetwork(ready: boolean): void {
    this.#networks.put('network', { ready, reason: 'NetworkPluginNotReady', message: 'no configuration', broken: [] });
  }

  /** Publishes results of the prober, by container ID. */
  async probed(uid: string, containers: PodProbes['containers']): Promise<void> {
    this.#probes.put(uid, { ref: { uid, name: `pod-${uid}`, namespace: 'default' }, containers }, { pod: uid });
    await this.quiet();
  }

  /** Publishes a pod's volumes; undefined: removes them. */
  async volumes(uid: string, state: Omit<PodVolumes, 'ref'> | undefined): Promise<void> {
    const ref = { uid, name: `pod-${uid}`, namespace: 'default' };
    if (state === undefined) this.#volumes.remove(uid, { pod: uid });
    else this.#volumes.put(uid, { ref, ...state }, { pod: uid });
    await this.quiet();
  }

  /** Publishes whether disk space is so short that pods that have ended keep nothing. */
  async spaceShort(removesEnded: boolean): Promise<void> {
    this.#pressures.put(NODE, { conditions: ['DiskPressure'], removesEnded });
    await this.quiet();
  }

  /** Publishes the only device of a device plugin. */
  async device(resource: string, healthy: boolean): Promise<void> {
    this.#deviceResources.put(resource, { resource, devices: [{ id: 'only', healthy }], gone: false });
    await this.quiet();
  }

  /** Allocates that device to the container `main` of a pod, or frees it. */
  async deviceOf(uid: string, resource: string | undefined): Promise<void> {
    const ref = { uid, name: `pod-${uid}`, namespace: 'default' };
    if (resource === undefined) this.#deviceAllocations.remove(uid, { pod: uid });
    else {
      const containers = [{ name: 'main', resources: [{ resource, devices: [{ id: 'only' }] }] }];
      this.#deviceAllocations.put(uid, { ref, containers }, { pod: uid });
    }
    await this.quiet();
  }

  /** Publishes the claims that a pod uses. */
  async claimsOf(uid: string, claims: readonly PreparedClaim[]): Promise<void> {
    this.#claimUses.put(uid, { claims: [...claims] }, { pod: uid });
    await this.quiet();
  }

  /** Publishes which CPUs no container has for itself. */
  async sharedCpus(cpus: string): Promise<void> {
    this.#cpuPools.put(NODE, { cpus });
    await this.quiet();
  }

  /** Publishes that all volumes are known. */
  async allVolumes(): Promise<void> {
    this.#volumes.complete();
    await this.quiet();
  }

  /** Resolves when everything is done that waits for nothing external, and for no time. */
  async quiet(): Promise<void> {
    for (let i = 0; i < 10; i++) await settled();
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.quiet();
  }

  status(uid: string): PodStatusReport['status'] | undefined {
    return this.#last<PodStatusReport>('worker.fact.status', uid)?.status;
  }

  state(uid: string): PodWorkerReport | undefined {
    return this.#last<PodWorkerReport>('worker.fact.state', uid);
  }

  /** Reasons and messages of the pod's events. */
  events(uid: string): string[] {
    return this.#said<PodEvent>('worker.event.recorded', uid).map(({ reason, message }) => `${reason}: ${message}`);
  }

  /** The pod's events with everything that a user sees: `<type> <reason> <field>: <message>`, `-` without a field. */
  eventLines(uid: string): string[] {
    return this.#said<PodEvent>('worker.event.recorded', uid).map(
      ({ type, reason, fieldPath = '-', message }) => `${type} ${reason} ${fieldPath}: ${message}`,
    );
  }

  /** The same for the node's own events. */
  nodeEvents(): string[] {
    return this.#said<NodeEvent>('worker.event.nodeRecorded', NODE).map(
      ({ type, reason, message }) => `${type} ${reason}: ${message}`,
    );
  }

  /** The field paths of the pod's events of a reason. */
  fields(uid: string, reason: string): (string | undefined)[] {
    const events = this.#said<PodEvent>('worker.event.recorded', uid).filter((event) => event.reason === reason);
    return events.map(({ fieldPath }) => fieldPath);
  }

  #last<T>(what: string, uid: string): T | undefined {
    return this.#said<T>(what, uid).at(-1);
  }

  /** The messages that were published under a subject since its last removal. */
  #said<T>(what: string, uid: string): T[] {
    const messages = this.broker.said.filter(({ subject }) => subject === `kubus.${NODE}.${what}.${uid}`);
    const removed = messages.findLastIndex(({ data }) => data === '');
    return messages.slice(removed + 1).map(({ data }) => JSON.parse(data) as T);
  }
}

/** A pod of one container `main`, with the defaults that every pod has. */
export function podOf(uid: string, spec: object = {}, container: object = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      containers: [{ name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent', ...container }],
      ...spec,
    },
  };
}
