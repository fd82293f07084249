import type { Cause, FactOwner } from '@kubus/bus';
import { type DeviceAllocation, type PodRef, containerDevicesSchema, deviceAllocationSchema } from '@kubus/contracts';
import { type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';
import type { DeviceCheckpointFile, KeptAllocation } from './device-checkpoint.ts';
import { topologyOf } from './device-resources.ts';

const [allocatedContainer] = [deviceAllocationSchema.shape.containers.element];

/** The devices of a pod's containers, and what the plugins' answers add to the containers. */
const podDevicesSchema = deviceAllocationSchema.extend({
  containers: z.array(
    allocatedContainer.extend({
      resources: z.array(allocatedContainer.shape.resources.element.extend({ answer: containerDevicesSchema })),
    }),
  ),
});
export type PodDevices = z.infer<typeof podDevicesSchema>;
export type DevicesOfContainer = PodDevices['containers'][number];

/** The record of a pod's devices. */
export const allocationRecordSchema = podDevicesSchema.extend({ version: z.literal(1) });

/** Undefined: the reference kubelet gave the pod its devices, and it has not been asked for here. */
type KnownDevices = Omit<PodDevices, 'ref'> & { readonly ref: PodRef | undefined };

interface AllocationsOptions {
  readonly fact: FactOwner<DeviceAllocation>;
  readonly records: RecordStore;
  readonly logger: Logger;
  /** Where the reference kubelet keeps the same; default: nowhere. */
  readonly checkpoint?: Pick<DeviceCheckpointFile, 'found' | 'save'>;
}

/**
 * Which pod has which devices: one record per pod, and the reference kubelet's checkpoint, written before the fact is published. Reserved
 * devices are not given to other pods either.
 */
export class DeviceAllocations {
  readonly #fact: FactOwner<DeviceAllocation>;
  readonly #records: RecordStore;
  readonly #logger: Logger;
  readonly #checkpoint: AllocationsOptions['checkpoint'];
  readonly #pods = new Map<string, KnownDevices>();
  /** By resource and pod: IDs of reserved devices. */
  readonly #reserved = new Map<string, Map<string, Set<string>>>();

  static async load(options: AllocationsOptions): Promise<DeviceAllocations> {
    const allocations = new DeviceAllocations(options);
    for (const [uid, value] of await options.records.load()) allocations.#load(uid, value);
    for (const one of options.checkpoint?.found.allocations ?? []) allocations.#adopt(one);
    for (const [uid, { ref, containers }] of allocations.#pods)
      if (ref !== undefined) options.fact.put(uid, factOf({ ref, containers }), { pod: uid });
    options.fact.complete();
    return allocations;
  }

  private constructor(options: AllocationsOptions) {
    this.#fact = options.fact;
    this.#records = options.records;
    this.#logger = options.logger;
    this.#checkpoint = options.checkpoint;
  }

  /** UIDs of the pods that have devices. */
  get uids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  get(uid: string): KnownDevices | undefined {
    return this.#pods.get(uid);
  }

  /** All devices that containers have. */
  get all(): KeptAllocation[] {
    return [...this.#pods].flatMap(([pod, { containers }]) =>
      containers.flatMap(({ name: container, resources }) =>
        resources.map(({ resource, devices, answer }) => ({
          ...{ pod, container, resource, answer },
          devices: devices.map(({ id, topology }) => ({ id, numaNodes: topology?.numaNodes ?? [] })),
        })),
      ),
    );
  }

  /** IDs of a resource's devices that are allocated or reserved. */
  inUse(resource: string): ReadonlySet<string> {
    const given = [...this.#pods.values()].flatMap(({ containers }) => containers.flatMap((one) => one.resources));
    const ids = given.filter((one) => one.resource === resource).flatMap(({ devices }) => devices.map(({ id }) => id));
    const reserved = [...this.#reserved.values()].flatMap((resources) => [...(resources.get(resource) ?? [])]);
    return new Set([...ids, ...reserved]);
  }

  /** Reserves devices for the pod until {@link give} or {@link drop}. */
  reserve(uid: string, resource: string, ids: readonly string[]): void {
    const resources = this.#reserved.get(uid) ?? new Map<string, Set<string>>();
    this.#reserved.set(uid, resources);
    resources.set(resource, new Set([...(resources.get(resource) ?? []), ...ids]));
  }

  /** Cancels the pod's reservations. */
  drop(uid: string): void {
    this.#reserved.delete(uid);
  }

  /** Allocates these devices to the pod, durably. Throws when the record cannot be written. */
  async give(uid: string, pod: PodDevices, causes: readonly Cause[]): Promise<void> {
    await this.#records.put(uid, { version: 1, ...pod });
    this.#pods.set(uid, pod);
    this.#reserved.delete(uid);
    await this.#checkpoint?.save();
    this.#fact.put(uid, factOf(pod), { pod: uid, causes });
  }

  /** Frees the devices of a pod. */
  async free(uid: string): Promise<void> {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#pods.delete(uid);
    if (pod.ref !== undefined) this.#fact.remove(uid, { pod: uid });
    await this.#checkpoint?.save();
    try {
      await this.#records.delete(uid);
    } catch (error) {
      this.#logger.error({ podUid: uid, err: toError(error) }, 'cannot remove the device record of a pod');
    }
  }

  #load(uid: string, value: unknown): void {
    const parsed = allocationRecordSchema.safeParse(value);
    if (!parsed.success) {
      this.#logger.error({ podUid: uid, err: parsed.error }, 'cannot parse the device record of a pod');
      return;
    }
    const { version: _, ...pod } = parsed.data;
    this.#pods.set(uid, pod);
  }

  /** What the checkpoint says is newer than a record: the reference kubelet may have been the node's agent since. */
  #adopt({ pod: uid, container, resource, devices, answer }: KeptAllocation): void {
    const { ref, containers } = this.#pods.get(uid) ?? { ref: undefined, containers: [] };
    const had = containers.find(({ name }) => name === container)?.resources ?? [];
    const given = { resource, devices: devices.map(({ id, numaNodes }) => ({ id, ...topologyOf(numaNodes) })), answer };
    const resources = [...had.filter((one) => one.resource !== resource), given];
    const others = containers.filter(({ name }) => name !== container);
    this.#pods.set(uid, { ref, containers: [...others, { name: container, resources }] });
  }
}

function factOf({ ref, containers }: PodDevices): DeviceAllocation {
  return {
    ref,
    containers: containers.map(({ name, resources }) => ({
      name,
      resources: resources.map(({ resource, devices }) => ({ resource, devices })),
    })),
  };
}
