import type { Bus, Cause, CommandContext } from '@kubus/bus';
import { type ContainerDevices, type PodRef, allocateDevices } from '@kubus/contracts';
import {
  type AlignedRequest,
  type ContainerRequest,
  type KnownDevice,
  type Topology,
  type TopologyScope,
  alignment,
  chosenDevices,
  deviceChoice,
  deviceHints,
  mergedDevices,
  nextReusable,
  podCounts,
} from '@kubus/device-manager';
import type { PodRequest, ResourceHints, WholePod } from '@kubus/exclusive';
import { Lanes } from '@kubus/flow';
import { KubusError, type Logger, toError } from '@kubus/ports';
import type { ExclusiveThings } from '../exclusive/exclusive-things.ts';
import type { ExclusiveTurn } from '../exclusive/exclusive-turn.ts';
import { shownMerge } from '../exclusive/shown-merge.ts';
import type { DeviceAllocations, DevicesOfContainer } from './device-allocations.ts';
import { type DeviceResources, type ReadyResource, topologyOf } from './device-resources.ts';
import type { EarlierDevices } from './earlier-devices.ts';

/** What a container wants for itself, as in the message. */
type ExclusiveRequest = Omit<PodRequest['containers'][number], 'memory'> & {
  readonly memory?: Readonly<Record<string, number>> | undefined;
};

interface AllocationRequest {
  readonly ref: PodRef;
  readonly requests: readonly ContainerRequest[];
  readonly exclusive?: readonly ExclusiveRequest[] | undefined;
  readonly whole?: WholePod | undefined;
  readonly starting?: string | undefined;
  readonly lost?: string | undefined;
}

type AllocatedResource = DevicesOfContainer['resources'][number];

/** By resource: IDs of devices that later containers of the pod may reuse. */
type Reusable = Map<string, readonly string[]>;

/** The devices of resources, and how many of them are requested. */
type ReadyDevices = readonly (Pick<ReadyResource, 'devices'> & { readonly resource: string; readonly count: number })[];

/** Devices that the container, or the pod, has, and those that it may reuse. */
interface DevicesBefore {
  readonly had: readonly AllocatedResource[];
  readonly reusable: Reusable;
}

export interface DeviceManagerOptions {
  readonly bus: Bus;
  readonly logger: Logger;
  readonly resources: DeviceResources;
  readonly allocations: DeviceAllocations;
  /** Undefined: no container has CPUs or memory for itself. */
  readonly exclusive: ExclusiveThings | undefined;
  /** Undefined: what was given before this process started is not checked. */
  readonly earlier?: EarlierDevices;
  readonly topology: Topology;
  readonly topologyScope: TopologyScope;
  /** Called before anything is given to a pod. */
  readonly requested: (uid: string) => void;
  /** Whether a pod has ended. */
  readonly isEnded: (uid: string) => boolean;
  /** Runs a plugin call for devices of a resource and measures it. */
  readonly timed: <T>(resource: string, call: () => Promise<T>) => Promise<T>;
}

/**
 * Allocates devices to containers and keeps track of them (behaviour:resource-managers, Device plugin), together with what else containers
 * have for themselves.
 */
export class DeviceManager {
  readonly #options: DeviceManagerOptions;
  /** One lane per pod: its operations run one after another. */
  readonly #lanes = new Lanes();

  constructor(options: DeviceManagerOptions) {
    this.#options = options;
    options.bus.serve(allocateDevices, (command) => this.#lanes.run(command.key, () => this.#serve(command)));
  }

  /** Frees what a pod has, or what all pods have, that have ended. */
  sweep(uid?: string): void {
    const { allocations, exclusive, isEnded } = this.#options;
    const owners = new Set([...allocations.uids, ...(exclusive?.uids ?? [])]);
    for (const one of uid === undefined ? owners : [uid]) {
      if (!owners.has(one) || !isEnded(one)) continue;
      // A running operation may belong to a restart of the pod.
      void this.#lanes.run(one, async () => {
        if (!isEnded(one)) return;
        await exclusive?.free(one);
        await allocations.free(one);
      });
    }
  }

  async #serve(command: CommandContext<AllocationRequest>) {
    const { key, request } = command;
    command.begin();
    const { lost, starting } = request;
    try {
      if (lost !== undefined) {
        const had = this.#options.allocations.get(key)?.containers.find(({ name }) => name === lost);
        if (had !== undefined) await this.#options.earlier?.check(request.ref, had, command.cause);
        return { containers: {} };
      }
      this.#options.requested(key);
      const given = await this.#allocate(key, request, command.cause);
      this.sweep(key);
      const containers = given.filter(({ name }) => starting === undefined || name === starting);
      if (starting !== undefined) for (const container of containers) await this.#start(command, container);
      return { containers: this.#answer(key, request, containers) };
    } catch (error) {
      throw starting === undefined
        ? refusal(error)
        : new KubusError('CreateContainerConfigError', toError(error).message);
    }
  }

  #answer(
    uid: string,
    { exclusive = [], starting }: AllocationRequest,
    given: readonly DevicesOfContainer[],
  ): Record<string, ContainerDevices> {
    const devices = given.map((one): [string, ContainerDevices] => [one.name, answerOf(one)]);
    const all = new Map<string, ContainerDevices>(devices);
    for (const { name } of exclusive) {
      const cpuset = starting === undefined || name === starting ? this.#options.exclusive?.of(uid, name) : undefined;
      if (cpuset !== undefined) all.set(name, { ...(all.get(name) ?? mergedDevices([])), cpuset });
    }
    return Object.fromEntries(all);
  }

  /** Allocates all that the pod's containers miss, or nothing. Containers keep what they have. */
  async #allocate(uid: string, request: AllocationRequest, cause: Cause): Promise<readonly DevicesOfContainer[]> {
    const { allocations } = this.#options;
    const { ref, requests } = request;
    const before = allocations.get(uid)?.containers ?? [];
    const turn = await this.#turn(uid, request, cause);
    const reusable: Reusable = new Map();
    const containers: DevicesOfContainer[] = [];
    let isNew = false;
    try {
      const ofPod = turn === undefined ? await this.#podAffinity(requests, before) : undefined;
      for (const one of requests) {
        const had = before.find(({ name }) => name === one.name)?.resources ?? [];
        const resources = await this.#container(uid, { request: one, had, reusable, ofPod, turn });
        isNew ||= resources.length > had.length;
        if (resources.length > 0) containers.push({ name: one.name, resources });
        for (const { resource, devices } of resources) {
          const ids = devices.map(({ id }) => id);
          reusable.set(resource, nextReusable(reusable.get(resource) ?? [], one, ids));
        }
      }
      await turn?.finish();
      const isAdopted = containers.length > 0 && allocations.get(uid)?.ref === undefined;
      if (isNew || isAdopted) await allocations.give(uid, { ref, containers }, [cause]);
    } catch (error) {
      allocations.drop(uid);
      await turn?.undo();
      throw error;
    }
    return containers;
  }

  /** Undefined: the pod wants no CPUs or memory for itself, or the node gives none. */
  async #turn(
    uid: string,
    { requests, exclusive, whole, starting }: AllocationRequest,
    cause: Cause,
  ): Promise<ExclusiveTurn | undefined> {
    if (exclusive === undefined || this.#options.exclusive === undefined) return undefined;
    const containers = exclusive.map((one) => ({ ...one, memory: one.memory }));
    const counts = podCounts(requests);
    const known = await this.#readyDevices(this.#known(counts));
    const had = this.#options.allocations.get(uid)?.containers.flatMap(({ resources }) => resources) ?? [];
    const devices = () => this.#hints(known, { had, reusable: new Map() });
    return this.#options.exclusive.begin({ pod: { uid, containers, whole }, starting, cause, devices });
  }

  async #container(
    uid: string,
    asked: {
      readonly request: ContainerRequest;
      readonly had: readonly AllocatedResource[];
      readonly reusable: Reusable;
      readonly ofPod: readonly number[] | undefined;
      readonly turn: ExclusiveTurn | undefined;
    },
  ): Promise<AllocatedResource[]> {
    const { request, had, reusable } = asked;
    const known = this.#known(request.counts);
    for (const { resource, devices } of had) {
      const wanted = request.counts[resource] ?? 0;
      if (wanted === devices.length) continue;
      const what = `pod "${uid}" container "${request.name}" changed request for resource "${resource}"`;
      throw new KubusError('changed', `${what} from ${devices.length} to ${wanted}`);
    }
    const missing = known.filter(([resource]) => had.every((one) => one.resource !== resource));
    const affinity = await this.#containerAffinity({ ...asked, known, missing });
    const resources = [...had];
    for (const [resource, count] of missing) {
      resources.push(await this.#resource(uid, { resource, count, affinity, reusable: reusable.get(resource) ?? [] }));
    }
    return resources;
  }

  /** NUMA nodes from which all containers get their devices; undefined: from anywhere, or each from its own. */
  async #podAffinity(
    requests: readonly ContainerRequest[],
    before: readonly DevicesOfContainer[],
  ): Promise<readonly number[] | undefined> {
    if (this.#options.topologyScope !== 'pod') return undefined;
    const given = new Set(before.flatMap(({ resources }) => resources.map(({ resource }) => resource)));
    const missing = this.#known(podCounts(requests)).filter(([resource]) => !given.has(resource));
    return this.#affinity(missing, new Map(), undefined);
  }

  #known(counts: Readonly<Record<string, number>>): [string, number][] {
    return Object.entries(counts).filter(([resource]) => this.#options.resources.isKnown(resource));
  }

  /** NUMA nodes from which a container's missing devices come; undefined: from anywhere. */
  async #containerAffinity(asked: {
    readonly request: ContainerRequest;
    readonly had: readonly AllocatedResource[];
    readonly reusable: Reusable;
    readonly ofPod: readonly number[] | undefined;
    readonly turn: ExclusiveTurn | undefined;
    readonly known: readonly [string, number][];
    readonly missing: readonly [string, number][];
  }): Promise<readonly number[] | undefined> {
    const { request, had, reusable, turn, missing } = asked;
    if (turn === undefined) {
      return this.#options.topologyScope === 'pod' ? asked.ofPod : this.#affinity(missing, reusable, request.name);
    }
    const known = await this.#readyDevices(asked.known);
    try {
      return await turn.upTo(request.name, () => this.#hints(known, { had, reusable }));
    } catch (error) {
      // The reference asks for devices before it takes CPUs and memory.
      const isTopology = error instanceof KubusError && error.code === 'TopologyAffinityError';
      if (!isTopology) for (const [resource, count] of missing) this.#check(resource, count, known, reusable);
      throw error;
    }
  }

  /** Throws when the devices cannot be allocated. */
  #check(resource: string, count: number, known: ReadyDevices, reusable: Reusable): void {
    const { devices } = known.find((one) => one.resource === resource) ?? {};
    const inUse = this.#options.allocations.inUse(resource);
    const asked = { resource, count, devices, inUse, reusable: reusable.get(resource) ?? [] };
    const choice = deviceChoice(asked);
    if ('problem' in choice) throw new KubusError('no-devices', choice.problem);
  }

  /**
   * NUMA nodes from which all of these resources come; undefined: from anywhere.
   *
   * @param container that asks for them; undefined: the pod as a whole
   */
  async #affinity(
    missing: readonly [string, number][],
    reusable: Reusable,
    container: string | undefined,
  ): Promise<readonly number[] | undefined> {
    const { topology } = this.#options;
    if (topology.policy === 'none') return undefined;
    const known = await this.#readyDevices(missing);
    const of = { had: [], reusable };
    const { admitted, affinity } = alignment(topology, this.#aligned(known, of));
    if (admitted) return affinity;
    const merge = { container, resources: this.#hints(known, of), affinity: { mask: undefined, preferred: false } };
    throw new KubusError('TopologyAffinityError', 'Resources cannot be allocated with Topology locality', {
      context: { by: 'topology', merge: JSON.stringify(shownMerge(topology.policy, topology.nodes, merge)) },
    });
  }

  /** The devices of these resources, as soon as it is known whether their plugins are connected. */
  async #readyDevices(counts: readonly [string, number][]): Promise<ReadyDevices> {
    const found: ReadyDevices[number][] = [];
    for (const [resource, count] of counts) {
      const { devices } = await this.#options.resources.ready(resource);
      found.push({ resource, count, devices });
    }
    return found;
  }

  #hints(known: ReadyDevices, of: DevicesBefore): readonly ResourceHints[] {
    const all = deviceHints(this.#options.topology.nodes, this.#aligned(known, of));
    return known.map(({ resource }, at) => ({ resource, hints: all[at] }));
  }

  /** What may be allocated now; what a container has already is all that it may have. */
  #aligned(known: ReadyDevices, { had, reusable }: DevicesBefore): AlignedRequest[] {
    return known.map(({ resource, count, devices: all = [] }) => {
      const given = had.filter((one) => one.resource === resource).flatMap(({ devices }) => devices);
      const ids = new Set(given.map(({ id }) => id));
      if (ids.size > 0) return { count, all, available: ids.size === count ? ids : new Set(), reusable: [] };
      const inUse = this.#options.allocations.inUse(resource);
      const free = all.filter(({ id, healthy }) => healthy && !inUse.has(id));
      return { count, all, available: new Set(free.map(({ id }) => id)), reusable: reusable.get(resource) ?? [] };
    });
  }

  async #resource(
    uid: string,
    asked: { resource: string; count: number; affinity: readonly number[] | undefined; reusable: readonly string[] },
  ): Promise<AllocatedResource> {
    const { allocations, logger, resources, timed } = this.#options;
    const { resource } = asked;
    const ready = await resources.ready(resource);
    const { devices, plugin } = ready;
    const choose = () => {
      const choice = deviceChoice({ ...asked, devices, inUse: allocations.inUse(resource) });
      if ('problem' in choice) throw new KubusError('no-devices', choice.problem);
      return choice;
    };
    const preferred = await this.#preferred(choose().question, ready);
    // Other pods may have been given some during the plugin's call.
    const ids = chosenDevices(choose(), preferred);
    if (plugin === undefined) throw new KubusError('no-devices', `unknown Device Plugin ${resource}`);
    allocations.reserve(uid, resource, ids);
    const answer = await timed(resource, () => plugin.allocate(ids));
    logger.info({ podUid: uid, resource, devices: ids }, 'devices allocated');
    return { resource, devices: ids.map((id) => ({ id, ...topologyOf(nodesOf(devices, id)) })), answer };
  }

  async #preferred(
    question: Parameters<NonNullable<ReadyResource['plugin']>['preferred']>[0] | undefined,
    { plugin, options }: ReadyResource,
  ): Promise<readonly string[]> {
    if (question === undefined || plugin === undefined || !options.preference) return [];
    return plugin.preferred(question);
  }

  /** Checks what a container has, and calls the plugins that request it before a container starts. */
  async #start({ request, cause }: CommandContext<AllocationRequest>, container: DevicesOfContainer): Promise<void> {
    await this.#options.earlier?.check(request.ref, container, cause);
    for (const { resource, devices } of container.resources) {
      const { plugin, options } = await this.#options.resources.ready(resource);
      if (!options.preStart) continue;
      if (plugin === undefined)
        throw new KubusError('disconnected', `the device plugin of ${resource} is not connected`);
      await plugin.preStart(devices.map(({ id }) => id));
    }
  }
}

function answerOf({ resources }: DevicesOfContainer): ContainerDevices {
  return mergedDevices(resources.map(({ answer }) => answer));
}

function nodesOf(devices: readonly KnownDevice[] | undefined, id: string): readonly number[] {
  return devices?.find((device) => device.id === id)?.numaNodes ?? [];
}

/** Reasons of errors whose message already says all of it. */
const ADMISSION_REASONS = [
  'EmptyPodSharedPoolError',
  'SMTAlignmentError',
  'TopologyAffinityError',
  'UnexpectedAdmissionError',
];

/** Why the node does not admit the pod, in the reference kubelet's words. */
function refusal(error: unknown): KubusError {
  if (error instanceof KubusError && ADMISSION_REASONS.includes(error.code)) return error;
  const message = `Allocate failed due to ${toError(error).message}, which is unexpected`;
  return new KubusError('UnexpectedAdmissionError', message, { cause: error });
}
