import type { FactOwner } from '@kubus/bus';
import { type DeviceResource, type ResourceList, allocatableDevices } from '@kubus/contracts';
import type { KnownDevice } from '@kubus/device-manager';
import type { DevicePlugin, DevicePluginOptions, RegisteredPlugin } from '@kubus/node-plugins';
import { type Cancel, type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';
import type { DeviceCheckpointFile } from './device-checkpoint.ts';

/** How long the devices of a disconnected plugin are still counted, in milliseconds (behaviour:resource-managers). */
const GRACE_MS = 300_000;
/**
 * How long plugins have to register again after a restart of this process, in milliseconds. Until then their devices
 * count as before, and a pod that needs one waits. After that they count as none: as with the reference kubelet, the
 * grace period is for plugins that were connected to this process.
 */
const RETURN_MS = 10_000;

/** The record of a resource that a plugin has registered. */
export const resourceRecordSchema = z.object({
  version: z.literal(1),
  resource: z.string(),
  devices: z.array(z.object({ id: z.string(), healthy: z.boolean(), numaNodes: z.array(z.int()) })),
  gone: z.boolean(),
  preStart: z.boolean(),
});

/** The state of one resource. */
interface Resource {
  readonly devices: readonly KnownDevice[];
  /** `returning`: its plugin was connected before this process started. `expired`: disconnected for longer than the grace period. */
  readonly state: 'connected' | 'returning' | 'disconnected' | 'expired';
  /** Whether its plugin requests a call before containers start. */
  readonly preStart: boolean;
  /** The plugin that registered last; undefined when that was before this process started. */
  readonly registered: RegisteredPlugin | undefined;
}

/** A resource at the time of an allocation. */
export interface ReadyResource {
  /** Devices of a disconnected plugin are unhealthy. Undefined: disconnected for longer than the grace period. */
  readonly devices: readonly KnownDevice[] | undefined;
  /** Undefined: not connected. */
  readonly plugin: DevicePlugin | undefined;
  readonly options: DevicePluginOptions;
}

export interface DeviceResourcesOptions {
  readonly fact: FactOwner<DeviceResource>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  /** Where the reference kubelet keeps the same; default: nowhere. */
  readonly checkpoint?: Pick<DeviceCheckpointFile, 'found' | 'save'>;
  /** Called after each change of the resources. */
  readonly changed: () => void;
}

/**
 * The resources of device plugins, as plugins connect and disconnect (behaviour:resource-managers, Device plugin).
 * They are recorded, so that a resource that was ever registered never counts as unknown.
 */
export class DeviceResources {
  readonly #options: DeviceResourcesOptions;
  readonly #resources = new Map<string, Resource>();
  /** Cancels the connection to each plugin, or the timer of a resource without one. */
  readonly #pending = new Map<string, Cancel>();
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  static async start(options: DeviceResourcesOptions): Promise<DeviceResources> {
    const resources = new DeviceResources(options);
    for (const [key, value] of await options.records.load()) resources.#load(key, value);
    for (const resource of Object.keys(options.checkpoint?.found.resources ?? {})) resources.#adopt(resource);
    options.fact.complete();
    return resources;
  }

  private constructor(options: DeviceResourcesOptions) {
    this.#options = options;
  }

  /** Whether a device plugin has ever registered the resource. */
  isKnown(resource: string): boolean {
    return this.#resources.has(resource);
  }

  /** Numbers of devices of each resource, all and allocatable, as in a Node's status. */
  get amounts(): { readonly capacity: ResourceList; readonly allocatable: ResourceList } {
    const all = [...this.#resources].map(([resource, found]) => factOf(resource, found));
    return {
      capacity: Object.fromEntries(all.map(({ resource, devices }) => [resource, String(devices.length)])),
      allocatable: Object.fromEntries(all.map((one) => [one.resource, String(allocatableDevices(one))])),
    };
  }

  /** By resource: IDs of its healthy devices. */
  get healthy(): Record<string, string[]> {
    const all = [...this.#resources].map(([resource, { devices, state }]): [string, string[]] => [
      resource,
      devices.filter(({ healthy }) => healthy && !isGone(state)).map(({ id }) => id),
    ]);
    return Object.fromEntries(all);
  }

  /** A plugin has registered; from now on its list of devices is the resource's. */
  register(registered: RegisteredPlugin): void {
    const { resource, plugin, options } = registered;
    const { devices, state } = this.#resources.get(resource) ?? { devices: [], state: 'disconnected' as const };
    this.#options.logger.info({ resource }, 'device plugin registered');
    this.#pending.get(resource)?.();
    this.#resources.set(resource, { devices, state, preStart: options.preStart, registered });
    const watch = plugin.watch({
      devices: (list) =>
        this.#set(resource, { devices: list, state: 'connected', preStart: options.preStart, registered }),
      ended: (error) => {
        this.#options.logger.warn({ resource, err: error.message }, 'device plugin disconnected');
        this.#disconnect(resource);
      },
    });
    this.#pending.set(resource, watch);
  }

  /** The plugin's socket was removed. Does nothing if another plugin has replaced it. */
  unregister(registered: RegisteredPlugin): void {
    if (this.#resources.get(registered.resource)?.registered === registered) this.#disconnect(registered.resource);
  }

  /** Resolves once it is known whether the resource's plugin is connected. */
  async ready(resource: string): Promise<ReadyResource> {
    while (this.#resources.get(resource)?.state === 'returning' && !this.#stopped) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    const found = this.#resources.get(resource);
    const { devices = [], state, preStart = false, registered } = found ?? {};
    const isConnected = state === 'connected';
    return {
      devices: isConnected
        ? devices
        : state === undefined || state === 'expired'
          ? undefined
          : devices.map((one) => ({ ...one, healthy: false })),
      plugin: isConnected ? registered?.plugin : undefined,
      options: { preStart, preference: isConnected && registered?.options.preference === true },
    };
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#pending.values()) cancel();
    this.#wake();
  }

  #load(key: string, value: unknown): void {
    const { logger } = this.#options;
    const parsed = resourceRecordSchema.safeParse(value);
    if (!parsed.success) {
      logger.error({ resource: key, err: parsed.error }, 'cannot parse the record of a device resource');
      return;
    }
    const { resource, devices, gone, preStart } = parsed.data;
    const state = gone ? (devices.length === 0 ? 'expired' : 'disconnected') : 'returning';
    this.#restore(resource, { devices: gone ? [] : devices, state, preStart, registered: undefined });
  }

  /** A plugin has registered the resource with the reference kubelet. It has no devices until the plugin registers again. */
  #adopt(resource: string): void {
    if (this.#resources.has(resource)) return;
    this.#restore(resource, { devices: [], state: 'returning', preStart: false, registered: undefined });
  }

  #restore(resource: string, found: Resource): void {
    const { fact, clock } = this.#options;
    this.#resources.set(resource, found);
    fact.put(resource, factOf(resource, found));
    if (found.state === 'disconnected') this.#awaitEnd(resource);
    if (found.state !== 'returning') return;
    this.#pending.set(
      resource,
      clock.after(RETURN_MS, () => this.#disconnect(resource, [])),
    );
  }

  /** Its devices can no longer be allocated, and count as none after the grace period, or at once if there are none. */
  #disconnect(resource: string, devices = this.#resources.get(resource)?.devices): void {
    const found = this.#resources.get(resource);
    if (found === undefined || devices === undefined || this.#stopped) return;
    this.#pending.get(resource)?.();
    this.#set(resource, { ...found, devices, state: 'disconnected' });
    this.#awaitEnd(resource);
  }

  #awaitEnd(resource: string): void {
    this.#pending.set(
      resource,
      this.#options.clock.after(GRACE_MS, () => {
        const found = this.#resources.get(resource);
        if (found !== undefined) this.#set(resource, { ...found, devices: [], state: 'expired' });
      }),
    );
  }

  #set(resource: string, found: Resource): void {
    const { fact, logger, records, changed } = this.#options;
    this.#resources.set(resource, found);
    const { devices, state, preStart } = found;
    const record = { version: 1, resource, devices, gone: isGone(state), preStart };
    records.put(resource, record).catch((error: unknown) => {
      logger.error({ resource, err: toError(error) }, 'cannot write the record of a device resource');
    });
    void this.#options.checkpoint?.save();
    fact.put(resource, factOf(resource, found));
    changed();
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

function factOf(resource: string, { devices, state }: Resource): DeviceResource {
  return {
    resource,
    devices: devices.map(({ id, healthy, numaNodes }) => ({ id, healthy, ...topologyOf(numaNodes) })),
    gone: isGone(state),
  };
}

function isGone(state: Resource['state']): boolean {
  return state === 'disconnected' || state === 'expired';
}

/** A device's NUMA nodes, as published in facts. */
export function topologyOf(numaNodes: readonly number[]): { topology?: { numaNodes: number[] } } {
  return numaNodes.length === 0 ? {} : { topology: { numaNodes: [...numaNodes] } };
}
