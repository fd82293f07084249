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
import type { Clock, Ids, Logger } from '@kubus/ports';
import { EventRecorder, type EventRecorderOptions, type NodeEvents } from '@kubus/service-kit';
import { CsiNodeKeeper } from './csi-node-keeper.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { NODES, NodeFollower } from './node-follower.ts';
import type { NodeStartup } from './node-startup.ts';
import { Repeater } from './repeater.ts';
import { RuntimeFacts } from './runtime-facts.ts';
import { VolumeFacts } from './volume-facts.ts';

/**
 * How long the first word on the node waits for what the others say of the runtime and the network, in milliseconds: a
 * restarted node must not say that it is not ready because it has only just begun to listen.
 */
const FIRST_WORD_MS = 3_000;
/** Tries of one write that others have got in the way of. */
const TRIES = 5;

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
  /** Make the Node where there is none. */
  readonly register: boolean;
  readonly statusEveryMs: number;
  readonly reportEveryMs: number;
  readonly leaseSeconds: number;
  readonly maxImages: number;
  readonly version: string;
  readonly port: number | undefined;
  readonly reserved: Reserved;
  /** What is read of the machine at each look. */
  readonly machine: {
    info(): MachineInfo;
    capacity(): ResourceList;
    devices(): StatusInput['devices'];
    addresses(existing: readonly NodeAddress[]): Promise<readonly NodeAddress[] | undefined>;
  };
  /** Is told how far the node is; left out: nobody looks at it. */
  readonly startup?: NodeStartup | undefined;
  /** See {@link EventRecorder}. */
  readonly eventRate?: EventRecorderOptions['rate'];
}

/**
 * The node as the cluster sees it: makes its object, keeps the object's status true, and its lease alive (kubelet
 * behaviour 1.16). One look at a time: what comes up during one leads to the next.
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
  readonly #firstWordAt: number;
  #plan = noReport;
  /** UID of the Node that has been made, or brought in line, in this life. */
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
        taken: (node, before) => this.#taken(node, before),
        gone: () => this.#look(),
      },
    });
    this.#firstWordAt = clock.now() + FIRST_WORD_MS;
    this.#looks = new Repeater({
      ...options,
      everyMs: statusEveryMs,
      failed: 'the node could not be written',
      act: () => this.#lookOnce(),
    });
  }

  /** Why the node is not a member of its cluster, for the service's health. */
  get problem(): string | undefined {
    return this.#follower.node === undefined ? 'the API server has no object of this node' : undefined;
  }

  start(): void {
    this.#follower.start();
  }

  /** What the machine has is something else than before: to be written at once. */
  changed(): void {
    this.#look();
  }

  stop(): void {
    this.#looks.stop();
    this.#lease.stop();
    this.#csiNode.stop();
    this.#follower.stop();
  }

  #taken(node: NodeObject, before: NodeObject | undefined): void {
    const { name } = this.#options;
    if (!this.#started) this.#tell([{ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' }]);
    this.#started = true;
    const unschedulable = node.spec.unschedulable === true;
    if (unschedulable !== this.#unschedulable) {
      this.#tell([statusEvent(name, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable')]);
    }
    this.#unschedulable = unschedulable;
    if (before?.metadata.uid === node.metadata.uid) return;
    this.#lease.renew();
    this.#csiNode.update();
    this.#look();
  }

  /** What is attached, and where pods go, waits for this. */
  #volumesChanged(): void {
    this.#csiNode.update();
    this.#look();
  }

  /** Looks at the node now, or once more after the look that is under way. */
  #look(): void {
    if (this.#follower.isListed) this.#looks.now();
  }

  /** Resolves with the milliseconds until the first word on the node, as long as that waits for something. */
  async #lookOnce(): Promise<number | undefined> {
    const untilFirstWord = this.#firstWordAt - this.#options.clock.now();
    if (untilFirstWord > 0 && !this.#facts.isKnown) return untilFirstWord;
    await this.#update();
    return undefined;
  }

  async #update(): Promise<void> {
    for (let left = TRIES; ; left--) {
      const { node } = this.#follower;
      try {
        if (node !== undefined) await this.#write(node);
        else if (this.#options.register) await this.#register();
        return;
      } catch (error) {
        const reason = error instanceof KubeError ? error.reason : undefined;
        if (left === 1 || (reason !== 'Conflict' && reason !== 'NotFound')) throw error;
        await this.#read();
      }
    }
  }

  /** A Node of this name that is there already counts as ours; so the API server may forbid to make it. */
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
      this.#tell(events, causes);
      logger.info({ node: name, uid: made.metadata.uid }, 'registered');
    } catch (error) {
      const reason = error instanceof KubeError ? error.reason : undefined;
      if (reason !== 'AlreadyExists' && reason !== 'Forbidden') throw error;
      if (!(await this.#read())) throw error;
      this.#look();
    }
  }

  /** Writes what differs, if anything does, or if nothing was written for long. */
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
    this.#tell(events, causes);
  }

  /** The API server has the node so now. */
  #noteReady({ status: { conditions = [] } }: NodeObject): void {
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isReady) this.#options.startup?.ready();
  }

  /** Once for each Node that is there: what is the node's own to say of it. */
  #inLine(existing: NodeObject, input: StatusInput): NodeObject {
    if (!this.#options.register || existing.metadata.uid === this.#ownUid) return existing;
    const known = existing.status.nodeInfo?.['machineID'];
    const recreated = known !== undefined && known !== input.machine.machineId;
    return reconciled(existing, withStatus(this.#initial, input).node, recreated);
  }

  /** Reads the Node from the API server itself. False: there is none. */
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
    const { clock, initial, machine, nodeIps } = this.#options;
    const now = clock.now();
    const { externalCloud } = initial;
    return {
      ...this.#options,
      machine: machine.info(),
      capacity: machine.capacity(),
      devices: machine.devices(),
      addresses: await machine.addresses(existing),
      annotations: { [PROVIDED_IPS]: providedIps({ nodeIps, externalCloud }) },
      runtime: this.#facts.view.condition,
      images: this.#facts.images,
      csi: this.#volumes.known,
      volumesInUse: this.#volumes.inUse,
      declaredFeatures: DECLARED_FEATURES,
      // Nothing on the node says yet that something is scarce.
      pressure: { memory: false, disk: false, pid: false },
      problems: readinessProblems(this.#facts.view, now),
      now: `${new Date(now).toISOString().slice(0, 19)}Z`,
    };
  }

  #written(changed: boolean): void {
    const { clock, ids, reportEveryMs } = this.#options;
    const write = { changed, now: clock.now(), everyMs: reportEveryMs, fraction: ids.fraction() };
    this.#plan = planAfterWrite(this.#plan, write);
  }

  /** @param causes what was known of the runtime and the network; the Node as the API server has it is one in any case. */
  #tell(events: readonly Parameters<NodeEvents['record']>[0][], causes: readonly Cause[] = []): void {
    const { said } = this.#follower;
    for (const event of events) this.#events.record(event, said === undefined ? causes : [...causes, said]);
  }
}

/** When the Ready condition was last written, in milliseconds since the Unix epoch. */
function heartbeatOf({ status }: NodeObject): number | undefined {
  const at = status.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
  return typeof at === 'string' ? parseTime(at) : undefined;
}
