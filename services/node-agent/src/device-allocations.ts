import type { Cause, FactOwner } from '@kubus/bus';
import { type DeviceAllocation, containerDevicesSchema, deviceAllocationSchema } from '@kubus/contracts';
import { type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';

const [allocatedContainer] = [deviceAllocationSchema.shape.containers.element];

/** What the containers of a pod have been given, with what their plugins want them to get. */
const podDevicesSchema = deviceAllocationSchema.extend({
  containers: z.array(
    allocatedContainer.extend({
      resources: z.array(allocatedContainer.shape.resources.element.extend({ answer: containerDevicesSchema })),
    }),
  ),
});
export type PodDevices = z.infer<typeof podDevicesSchema>;
export type DevicesOfContainer = PodDevices['containers'][number];

/** What is kept of the devices that a pod has. */
export const allocationRecordSchema = podDevicesSchema.extend({ version: z.literal(1) });

/**
 * Who has which devices: one record for each pod, written before anybody hears of it, and one fact. Devices that are about
 * to be given are nobody else's either.
 */
export class DeviceAllocations {
  readonly #fact: FactOwner<DeviceAllocation>;
  readonly #records: RecordStore;
  readonly #logger: Logger;
  readonly #pods = new Map<string, PodDevices>();
  /** Ids by resource, by the pod that is about to get them. */
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

  /** Ids of a resource's devices that pods have, or are about to get. */
  inUse(resource: string): ReadonlySet<string> {
    const given = [...this.#pods.values()].flatMap(({ containers }) => containers.flatMap((one) => one.resources));
    const ids = given.filter((one) => one.resource === resource).flatMap(({ devices }) => devices.map(({ id }) => id));
    const reserved = [...this.#reserved.values()].flatMap((resources) => [...(resources.get(resource) ?? [])]);
    return new Set([...ids, ...reserved]);
  }

  /** Keeps devices from others until the pod has been given them, or not: {@link give}, {@link drop}. */
  reserve(uid: string, resource: string, ids: readonly string[]): void {
    const resources = this.#reserved.get(uid) ?? new Map<string, Set<string>>();
    this.#reserved.set(uid, resources);
    resources.set(resource, new Set([...(resources.get(resource) ?? []), ...ids]));
  }

  /** The pod is not given what was kept for it. */
  drop(uid: string): void {
    this.#reserved.delete(uid);
  }

  /** From now on the pod has these devices, over restarts too. Throws when that can not be written down. */
  async give(uid: string, pod: PodDevices, causes: readonly Cause[]): Promise<void> {
    await this.#records.put(uid, { version: 1, ...pod });
    this.#pods.set(uid, pod);
    this.#reserved.delete(uid);
    this.#fact.put(uid, factOf(pod), { pod: uid, causes });
  }

  /** The devices of a pod are free again. */
  async free(uid: string): Promise<void> {
    if (!this.#pods.delete(uid)) return;
    this.#fact.remove(uid, { pod: uid });
    try {
      await this.#records.delete(uid);
    } catch (error) {
      this.#logger.error({ podUid: uid, err: toError(error) }, 'the record of a pod’s devices could not be removed');
    }
  }

  #load(uid: string, value: unknown): void {
    const parsed = allocationRecordSchema.safeParse(value);
    if (!parsed.success) {
      this.#logger.error({ podUid: uid, err: parsed.error }, 'the record of a pod’s devices is not understood');
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
