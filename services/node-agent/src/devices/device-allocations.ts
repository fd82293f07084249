import type { Cause, FactOwner } from '@kubus/bus';
import { type DeviceAllocation, containerDevicesSchema, deviceAllocationSchema } from '@kubus/contracts';
import { type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';

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

/**
 * Which pod has which devices: one record per pod, written before the fact is published. Reserved devices are not
 * given to other pods either.
 */
export class DeviceAllocations {
  readonly #fact: FactOwner<DeviceAllocation>;
  readonly #records: RecordStore;
  readonly #logger: Logger;
  readonly #pods = new Map<string, PodDevices>();
  /** By resource and pod: IDs of reserved devices. */
  readonly #reserved = new Map<string, Map<string, Set<string>>>();

  static async load(options: {
    fact: FactOwner<DeviceAllocation>;
    records: RecordStore;
    logger: Logger;
  }): Promise<DeviceAllocations> {
    const allocations = new DeviceAllocations(options);
    for (const [uid, value] of await options.records.load()) allocations.#load(uid, value);
    options.fact.complete();
    return allocations;
  }

  private constructor(options: { fact: FactOwner<DeviceAllocation>; records: RecordStore; logger: Logger }) {
    this.#fact = options.fact;
    this.#records = options.records;
    this.#logger = options.logger;
  }

  /** UIDs of the pods that have devices. */
  get uids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  get(uid: string): PodDevices | undefined {
    return this.#pods.get(uid);
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
    this.#fact.put(uid, factOf(pod), { pod: uid, causes });
  }

  /** Frees the devices of a pod. */
  async free(uid: string): Promise<void> {
    if (!this.#pods.delete(uid)) return;
    this.#fact.remove(uid, { pod: uid });
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
    this.#fact.put(uid, factOf(pod), { pod: uid });
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
