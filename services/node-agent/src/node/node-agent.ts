import { type Bus, type Cause, parseTime } from '@kubus/bus';
import { type ResourceList, nodeAgentEvent } from '@kubus/contracts';
import { KubeError, type KubeWatcher } from '@kubus/kube';
import {
  DECLARED_FEATURES,
  type InitialSettings,
  type MachineInfo,
  type NodeAddress,
  type NodeObject,
  PROVIDED_IPS,
  type Reserved,
  type StatusInput,
  initialNode,
  isReportDue,
  noReport,
  nodeObjectSchema,
  planAfterWrite,
  providedIps,
  readinessProblems,
  reconciled,
  saysSomethingNew,
  statusEvent,
  statusPatch,
  withStatus,
} from '@kubus/node-status';
import { timeOfMs } from '@kubus/pod';
import type { Clock, Ids, Logger } from '@kubus/ports';
import { EventRecorder, type EventRecorderOptions, type NodeEvents } from '@kubus/service-kit';
import { CsiNodeKeeper } from './csi-node-keeper.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import type { FoundAddresses } from './machine.ts';
import { NODES, NodeFollower } from './node-follower.ts';
import type { NodeStartup } from './node-startup.ts';
import { Repeater } from './repeater.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import { RuntimeFacts } from './runtime-facts.ts';
import { VolumeFacts } from './volume-facts.ts';

/**
 * How long the first status waits for the facts about the runtime and the network, in milliseconds: a restarted node
 * must not report that it is not ready because it has received no facts yet.
 */
const FIRST_STATUS_MS = 3_000;

const NO_PRESSURE = { memory: false, disk: false, pid: false };

export interface NodeAgentOptions {
  readonly client: KubeWatcher;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly name: string;
  readonly hostname: string;
  readonly nodeIps: readonly string[];
  readonly initial: InitialSettings;
  /** Whether to create the Node object if there is none. */
  readonly register: boolean;
  readonly statusEveryMs: number;
  readonly reportEveryMs: number;
  readonly leaseSeconds: number;
  readonly maxImages: number;
  readonly version: string;
  readonly port: number | undefined;
  readonly reserved: Reserved;
  /** Reads the machine, for each status. */
  readonly machine: {
    info(): MachineInfo;
    capacity(): ResourceList;
    devices(): StatusInput['devices'];
    addresses(existing: readonly NodeAddress[]): Promise<FoundAddresses>;
  };
  /** Receives the startup steps; default: they are not measured. */
  readonly startup?: NodeStartup | undefined;
  /** Why the node is not ready, besides its runtime and network; undefined: nothing else. */
  readonly problem?: (() => string | undefined) | undefined;
  /** What the node is short of; default: nothing. */
  readonly pressure?: (() => StatusInput['pressure']) | undefined;
  /** See {@link EventRecorder}. */
  readonly eventRate?: EventRecorderOptions['rate'];
}

/**
 * The node as the cluster sees it: creates its Node object, and keeps its status current and its lease renewed
 * (behaviour:node-object). One update at a time: changes during one lead to the next.
 */
export class NodeAgent {
  readonly #options: NodeAgentOptions;
  readonly #follower: NodeFollower;
  readonly #facts: RuntimeFacts;
  readonly #volumes: VolumeFacts;
  readonly #lease: LeaseKeeper;
  readonly #csiNode: CsiNodeKeeper;
  readonly #events: NodeEvents;
  readonly #looks: Repeater;
  readonly #requestMs: number;
  readonly #firstStatusAt: number;
  #plan = noReport;
  /** UID of the Node object that this process has created or updated. */
  #ownUid: string | undefined;
  #unschedulable = false;
  #started = false;

  constructor(options: NodeAgentOptions) {
    const { bus, clock, leaseSeconds, statusEveryMs } = options;
    this.#options = options;
    this.#requestMs = Math.min(leaseSeconds * 1000, statusEveryMs);
    this.#events = new EventRecorder({ bus, clock, rate: options.eventRate }).ofNode(nodeAgentEvent);
    this.#facts = new RuntimeFacts({ bus, clock, changed: () => this.#look() });
    this.#volumes = new VolumeFacts({ bus, node: options.name, changed: () => this.#volumesChanged() });
    this.#csiNode = new CsiNodeKeeper({
      ...options,
      node: () => this.#follower.node,
      known: () => this.#volumes.known,
      timeoutMs: this.#requestMs,
    });
    this.#lease = new LeaseKeeper({
      ...options,
      node: () => this.#follower.node?.metadata,
      seconds: leaseSeconds,
      timeoutMs: this.#requestMs,
    });
    this.#follower = new NodeFollower({
      ...options,
      listener: {
        changed: (node, before) => this.#nodeChanged(node, before),
        removed: () => this.#look(),
      },
    });
    this.#firstStatusAt = clock.now() + FIRST_STATUS_MS;
    this.#looks = new Repeater({
      ...options,
      everyMs: statusEveryMs,
      failed: 'cannot write the Node object',
      act: () => this.#lookOnce(),
    });
  }

  /** Why the node is not a member of its cluster, for the service's health; undefined when it is. */
  get problem(): string | undefined {
    return this.#follower.node === undefined ? 'the API server has no Node object for this node' : undefined;
  }

  start(): void {
    this.#follower.start();
  }

  /** The machine has changed: the status is written at once. */
  changed(): void {
    this.#look();
  }

  stop(): void {
    this.#looks.stop();
    this.#lease.stop();
    this.#csiNode.stop();
    this.#follower.stop();
  }

  #nodeChanged(node: NodeObject, before: NodeObject | undefined): void {
    const { name } = this.#options;
    if (!this.#started) this.#recordEvents([{ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' }]);
    this.#started = true;
    const unschedulable = node.spec.unschedulable === true;
    if (unschedulable !== this.#unschedulable) {
      this.#recordEvents([statusEvent(name, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable')]);
    }
    this.#unschedulable = unschedulable;
    if (before?.metadata.uid === node.metadata.uid) return;
    this.#lease.renew();
    this.#csiNode.update();
    this.#look();
  }

  /** Attaching volumes and scheduling pods wait for this. */
  #volumesChanged(): void {
    this.#csiNode.update();
    this.#look();
  }

  /** Updates the Node object now, or once more after the running update. */
  #look(): void {
    if (this.#follower.isListed) this.#looks.now();
  }

  /** Resolves with the milliseconds until the first status may be written, while that waits for facts. */
  async #lookOnce(): Promise<number | undefined> {
    const untilFirstWord = this.#firstStatusAt - this.#options.clock.now();
    if (untilFirstWord > 0 && !this.#facts.isKnown) return untilFirstWord;
    await this.#update();
    return undefined;
  }

  async #update(): Promise<void> {
    await retryOnConflict(
      async (isRetry) => {
        if (isRetry) await this.#read();
        const { node } = this.#follower;
        if (node !== undefined) await this.#write(node);
        else if (this.#options.register) await this.#register();
      },
      ({ reason }) => reason === 'Conflict' || reason === 'NotFound',
    );
  }

  /** An existing Node object of this name counts as ours; the API server may then refuse to create it. */
  async #register(): Promise<void> {
    const { client, name, logger, startup } = this.#options;
    const { node, events } = withStatus(this.#initial, await this.#input([]));
    const { causes } = this.#facts;
    try {
      const { uid: _, resourceVersion: __, ...metadata } = node.metadata;
      const body = { ...node, metadata };
      startup?.attempts();
      const answer = await client.request({ method: 'POST', path: NODES, body, timeoutMs: this.#requestMs });
      const made = nodeObjectSchema.parse(answer);
      startup?.registered();
      this.#noteReady(node);
      this.#ownUid = made.metadata.uid;
      this.#written(true);
      this.#follower.take(made);
      this.#recordEvents(events, causes);
      logger.info({ node: name, uid: made.metadata.uid }, 'registered');
    } catch (error) {
      const reason = error instanceof KubeError ? error.reason : undefined;
      if (reason !== 'AlreadyExists' && reason !== 'Forbidden') throw error;
      if (!(await this.#read())) throw error;
      this.#look();
    }
  }

  /** Writes what differs, or after the maximum time without a write. */
  async #write(existing: NodeObject): Promise<void> {
    const { client, clock, reportEveryMs, name } = this.#options;
    const input = await this.#input(existing.status.addresses ?? []);
    const { causes } = this.#facts;
    const { node, events } = withStatus(this.#inLine(existing, input), input);
    const changed = saysSomethingNew(existing, node);
    if (!changed && !isReportDue(this.#plan, clock.now(), reportEveryMs, heartbeatOf(existing))) {
      this.#ownUid = existing.metadata.uid;
      return;
    }
    const answer = await client.request({
      method: 'PATCH',
      path: `${NODES}/${encodeURIComponent(name)}/status`,
      patch: 'strategic',
      body: statusPatch(existing, node),
      timeoutMs: this.#requestMs,
    });
    this.#ownUid = existing.metadata.uid;
    this.#noteReady(node);
    this.#written(changed);
    this.#follower.take(nodeObjectSchema.parse(answer));
    this.#recordEvents(events, causes);
  }

  /** The API server has this status now. */
  #noteReady({ status: { conditions = [] } }: NodeObject): void {
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isReady) this.#options.startup?.ready();
  }

  /** Once for each Node object: sets what the node itself decides. */
  #inLine(existing: NodeObject, input: StatusInput): NodeObject {
    if (!this.#options.register || existing.metadata.uid === this.#ownUid) return existing;
    const known = existing.status.nodeInfo?.['machineID'];
    const recreated = known !== undefined && known !== input.machine.machineId;
    return reconciled(existing, withStatus(this.#initial, input).node, recreated);
  }

  /** Reads the Node object from the API server. False: there is none. */
  async #read(): Promise<boolean> {
    const { client, name } = this.#options;
    const path = `${NODES}/${encodeURIComponent(name)}`;
    try {
      const answer = await client.request({ method: 'GET', path, timeoutMs: this.#requestMs });
      this.#follower.take(nodeObjectSchema.parse(answer));
      return true;
    } catch (error) {
      if (!(error instanceof KubeError) || error.reason !== 'NotFound') throw error;
      this.#follower.lost();
      return false;
    }
  }

  get #initial(): NodeObject {
    const { name, hostname, initial, machine } = this.#options;
    return initialNode({ name, hostname, architecture: machine.info().architecture }, initial);
  }

  async #input(existing: readonly NodeAddress[]): Promise<StatusInput> {
    const { clock, initial, machine, nodeIps, problem, pressure = () => NO_PRESSURE } = this.#options;
    const now = clock.now();
    const found = await machine.addresses(existing);
    // Addresses that were found before are kept. Without any, nothing reaches the node: no logs, no exec, no pod's host address.
    const noAddress = 'problem' in found && existing.length === 0 ? found.problem : undefined;
    const others = [problem?.(), noAddress].filter((one) => one !== undefined);
    const { externalCloud } = initial;
    return {
      ...this.#options,
      machine: machine.info(),
      capacity: machine.capacity(),
      devices: machine.devices(),
      addresses: 'addresses' in found ? found.addresses : undefined,
      annotations: { [PROVIDED_IPS]: providedIps({ nodeIps, externalCloud }) },
      runtime: this.#facts.view.condition,
      images: this.#facts.images,
      csi: this.#volumes.known,
      volumesInUse: this.#volumes.inUse,
      declaredFeatures: DECLARED_FEATURES,
      pressure: pressure(),
      problems: [...readinessProblems(this.#facts.view, now), ...others],
      now: timeOfMs(now),
    };
  }

  #written(changed: boolean): void {
    const { clock, ids, reportEveryMs } = this.#options;
    const write = { changed, now: clock.now(), everyMs: reportEveryMs, fraction: ids.fraction() };
    this.#plan = planAfterWrite(this.#plan, write);
  }

  /** @param causes the facts about the runtime and the network; the newest Node object is always added */
  #recordEvents(events: readonly Parameters<NodeEvents['record']>[0][], causes: readonly Cause[] = []): void {
    const { published } = this.#follower;
    for (const event of events) this.#events.record(event, published === undefined ? causes : [...causes, published]);
  }
}

/** When the Ready condition was last written, in milliseconds since the Unix epoch. */
function heartbeatOf({ status }: NodeObject): number | undefined {
  const at = status.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
  return typeof at === 'string' ? parseTime(at) : undefined;
}
