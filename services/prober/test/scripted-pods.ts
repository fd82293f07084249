import type { Bus, FactOwner, FactReader } from '@kubus/bus';
import { LocalBroker, type LocalMember } from '@kubus/bus/testing';
import {
  type Container,
  type ContainerProbes,
  type CriRequest,
  type PodProbes,
  type PodSpec,
  type PodWork,
  type RuntimeContainer,
  type RuntimePod,
  type ServiceShare,
  clusterNode,
  criCommands,
  fencePod,
  findImage,
  freeImages,
  imagePull,
  podEventSchema,
  podProbes,
  podWork,
  pullImage,
  readPod,
  runtimeCondition,
  runtimeImages,
  runtimePod,
  serviceShare,
} from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import { Prober } from '../src/index.ts';
import { networkProbes } from '../src/network-probes.ts';

const NODE = 'node0';

interface ExecAnswer {
  exitCode?: number;
  stdout?: string;
  stderr?: string;
}

/** A pod of the test: its work and its runtime state. */
export interface TestPod {
  readonly spec: Partial<Omit<PodSpec, 'containers'>> & { containers: readonly Partial<Container>[] };
  readonly work?: PodWork['work'];
  readonly deletionTimestamp?: string;
}

/** The prober, in one process after the other, and the services around it. */
export class ScriptedPods {
  readonly clock = new ManualClock();
  readonly broker = new LocalBroker(NODE);
  readonly records = new MemoryRecords();
  /** The commands that were run in containers. */
  readonly commands: string[] = [];
  /** The result of a command in a container. */
  exec: (params: CriRequest<'ExecSync'>['params']) => Promise<ExecAnswer> = () => Promise.resolve({});
  /** The prober's random number. */
  fraction = 0;
  readonly #results: FactReader<PodProbes>;
  readonly #works: FactOwner<PodWork>;
  #bridge: { member: LocalMember; runtimes: FactOwner<RuntimePod> };
  /** By slot. */
  readonly #probers = new Map<number, { member: LocalMember; prober: Prober }>();
  readonly #shares: FactOwner<ServiceShare>;
  #epoch = 0;
  #waiting: (() => void)[] = [];

  constructor() {
    const { bus } = this.broker.join('cli', this.clock);
    this.#results = bus.reader(podProbes);
    bus.transport.subscribe(`kubus.${NODE}.>`, () => {
      for (const look of this.#waiting.splice(0)) look();
    });
    this.#shares = this.broker.join('launcher', this.clock).bus.owner(serviceShare);
    this.#works = this.broker.join('sync-loop', this.clock).bus.owner(podWork);
    this.#bridge = this.#startBridge();
  }

  get prober(): Prober {
    return this.instance(0);
  }

  instance(slot: number): Prober {
    const found = this.#probers.get(slot);
    if (found === undefined) throw new Error(`prober-${slot} is not running`);
    return found.prober;
  }

  /** Starts an instance of the prober, with a new epoch after an earlier process. */
  async start(slot = 0): Promise<void> {
    const member = this.broker.join('prober', this.clock, ++this.#epoch, slot);
    const prober = new Prober({
      ...{ bus: member.bus, clock: this.clock, logger: silentLogger, records: this.records, nodeIp: '127.0.0.1' },
      ids: { fraction: () => this.fraction },
      network: networkProbes(this.clock),
      share: { instances: ['prober-0'], term: 0 },
    });
    this.#probers.set(slot, { member, prober });
    announce(member.bus);
    await settled();
  }

  /** Ends an instance of the prober abruptly. */
  kill(slot = 0): void {
    const life = this.#probers.get(slot);
    life?.member.leave();
    life?.prober.stop();
    this.#probers.delete(slot);
  }

  /**
   * Another program takes the prober's place, publishes these results of a pod, and ends. It keeps none of its
   * records.
   */
  async otherProgram(uid: string, containers: PodProbes['containers']): Promise<void> {
    const member = this.broker.join('prober', this.clock, ++this.#epoch);
    const facts = member.bus.owner(podProbes);
    facts.put(uid, { ref: { uid, name: `pod-${uid}`, namespace: 'default' }, containers }, { pod: uid });
    facts.complete();
    await settled();
    member.leave();
  }

  /** Publishes which instances share the pods, as the launcher does. */
  async share(term: number, ...slots: number[]): Promise<void> {
    this.#shares.put('prober', { instances: slots.map((slot) => `prober-${slot}`), term });
    await settled();
  }

  /** Ends cri-bridge. */
  killBridge(): void {
    this.#bridge.member.leave();
  }

  /** Starts cri-bridge again; it does not know the commands of its earlier process. */
  async startBridge(): Promise<void> {
    this.#bridge = this.#startBridge();
    await settled();
  }

  /** Publishes the work of a pod. */
  async work(uid: string, { spec, work = 'sync', deletionTimestamp }: TestPod): Promise<void> {
    const ref = { uid, name: `pod-${uid}`, namespace: 'default' };
    const containers = spec.containers.map((container): Container => ({ name: 'app', image: 'i', ...container }));
    const metadata = { ...ref, ...(deletionTimestamp !== undefined && { deletionTimestamp }) };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, containers } } as PodWork['pod'];
    const rest = {
      source: 'file',
      reason: 'test',
      worker: 'pod-workers-0',
      firstSeen: '2030-01-01T00:00:00Z',
    } as const;
    this.#works.put(uid, { ref, pod, work, ...rest }, { pod: uid });
    await settled();
  }

  /** Publishes that the pod is finished. */
  async finish(uid: string): Promise<void> {
    this.#works.remove(uid);
    await settled();
  }

  /** Publishes that all work is known. */
  async workComplete(): Promise<void> {
    this.#works.complete();
    await settled();
  }

  /** Publishes the runtime state of a pod, the newest run of each container first; they have just started. */
  async runtime(uid: string, runs: readonly (Partial<RuntimeContainer> & { id: string })[], ips = ['127.0.0.1']) {
    const startedAt = `${Math.round(this.clock.now())}000000`;
    const nothing = { startedAt, createdAt: startedAt, finishedAt: '0', exitCode: 0, reason: '', message: '' };
    const image = { image: 'i', imageRef: 'i', imageId: 'i', logPath: '', annotations: {} };
    const run = { name: 'app', attempt: 0, sandboxId: 's', state: 'running' as const };
    this.#bridge.runtimes.put(
      uid,
      {
        ref: { uid, name: `pod-${uid}`, namespace: 'default' },
        stamp: { epoch: this.#epoch, counter: 0 },
        sandboxes: [{ id: 's', attempt: 0, ready: true, createdAt: startedAt, ips, runtimeHandler: '' }],
        containers: runs.map((given) => ({ ...nothing, ...image, ...run, ...given })),
      },
      { pod: uid },
    );
    await settled();
  }

  /** Publishes that the runtime no longer has the pod. */
  async runtimeGone(uid: string): Promise<void> {
    this.#bridge.runtimes.remove(uid);
    await settled();
  }

  /** The published results of a pod's containers, by container ID. */
  results(uid: string): Record<string, ContainerProbes> | undefined {
    return this.#results.get(uid)?.value.containers;
  }

  /** How often results of a pod were published. */
  said(uid: string): number {
    return this.broker.said.filter(({ subject }) => subject.endsWith(`.probe.fact.results.${uid}`)).length;
  }

  /** The recorded Kubernetes events, as `reason fieldPath: message`. */
  events(): string[] {
    return this.broker.said
      .filter(({ subject }) => subject.includes('.probe.event.recorded.'))
      .map(({ data }) => podEventSchema.parse(JSON.parse(data)))
      .map(({ reason, fieldPath, message }) => `${reason} ${fieldPath ?? ''}: ${message}`);
  }

  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000);
  }

  /** Resolves once `look` returns true; it is called again after each message. */
  async until(look: () => boolean): Promise<void> {
    while (!look()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #startBridge(): { member: LocalMember; runtimes: FactOwner<RuntimePod> } {
    const member = this.broker.join('cri-bridge', this.clock, ++this.#epoch);
    const { bus } = member;
    const at = { epoch: this.#epoch, counter: 0 };
    for (const fact of [runtimeCondition, runtimeImages, imagePull]) bus.owner<unknown>(fact);
    bus.reader(clusterNode);
    bus.serve(fencePod, () => Promise.resolve({ at }));
    bus.serve(readPod, () => Promise.resolve({ at }));
    const { ExecSync, ...others } = criCommands;
    for (const command of [...Object.values(others), findImage, freeImages, pullImage]) {
      bus.serve<unknown, unknown>(command, () => Promise.resolve({}));
    }
    bus.serve(ExecSync, async ({ request: { params } }) => {
      this.commands.push((params.cmd ?? []).join(' '));
      return { response: await this.exec(params), at };
    });
    const runtimes = bus.owner(runtimePod);
    announce(bus);
    return { member, runtimes };
  }
}

function announce(bus: Bus): void {
  bus.announce({ version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z' });
}
