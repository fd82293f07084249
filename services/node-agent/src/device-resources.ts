import type { FactOwner } from '@kubus/bus';
import { type DeviceResource, type ResourceList, allocatableDevices } from '@kubus/contracts';
import type { KnownDevice } from '@kubus/device-manager';
import type { DevicePlugin, DevicePluginOptions, RegisteredPlugin } from '@kubus/device-plugin';
import { type Cancel, type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';

/** How long the devices of a plugin that has gone are still counted, in milliseconds (kubelet behaviour 1.21). */
const GRACE_MS = 300_000;
/**
 * How long plugins have to register anew after a restart of this process, in milliseconds. Until then their devices are
 * taken for what they were; who wants one waits.
 */
const RETURN_MS = 10_000;

/** What is kept of a resource that a plugin has told of. */
export const resourceRecordSchema = z.object({
  version: z.literal(1),
  resource: z.string(),
  devices: z.array(z.object({ id: z.string(), healthy: z.boolean(), numaNodes: z.array(z.int()) })),
  gone: z.boolean(),
  preStart: z.boolean(),
});

/** What is known of one resource. */
interface Resource {
  readonly devices: readonly KnownDevice[];
  /** `returning`: its plugin was there before this process began. */
  readonly state: 'there' | 'returning' | 'gone';
  /** Its plugin wants to hear of the starts of containers. */
  readonly preStart: boolean;
  /** Who has registered last; undefined where that was in an earlier life of this process. */
  readonly registered: RegisteredPlugin | undefined;
}

/** A resource as it is when somebody wants some of it. */
export interface ReadyResource {
  /** Those of a plugin that has gone are not healthy. Undefined: the plugin has been gone for long. */
  readonly devices: readonly KnownDevice[] | undefined;
  /** Undefined: it is not there. */
  readonly plugin: DevicePlugin | undefined;
  readonly options: DevicePluginOptions;
}

export interface DeviceResourcesOptions {
  readonly fact: FactOwner<DeviceResource>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  /** Called after each change of what there is. */
  readonly changed: () => void;
}

/**
 * The resources that device plugins have, and how they come and go (kubelet behaviour 1.21, Device plugin). What is known of
 * them is kept over restarts: a resource that has been there once is never taken for one that nobody has.
 */
export class DeviceResources {
  readonly #options: DeviceResourcesOptions;
  readonly #resources = new Map<string, Resource>();
  /** What follows each plugin, or will happen to a resource of which there is none. */
  readonly #pending = new Map<string, Cancel>();
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  static async start(options: DeviceResourcesOptions): Promise<DeviceResources> {
    const resources = new DeviceResources(options);
    for (const [key, value] of await options.records.load()) resources.#load(key, value);
    options.fact.complete();
    return resources;
  }

  private constructor(options: DeviceResourcesOptions) {
    this.#options = options;
  }

  /** A device plugin has had the resource at some time. */
  isKnown(resource: string): boolean {
    return this.#resources.has(resource);
  }

  /** Devices of each resource, all and those that pods may have, as a Node's status tells them. */
  get amounts(): { readonly capacity: ResourceList; readonly allocatable: ResourceList } {
    const all = [...this.#resources].map(([resource, found]) => factOf(resource, found));
    return {
      capacity: Object.fromEntries(all.map(({ resource, devices }) => [resource, String(devices.length)])),
      allocatable: Object.fromEntries(all.map((one) => [one.resource, String(allocatableDevices(one))])),
    };
  }

  /** A plugin has registered; from now on its list of devices is the resource's. */
  register(registered: RegisteredPlugin): void {
    const { resource, plugin, options } = registered;
    const { devices, state } = this.#resources.get(resource) ?? { devices: [], state: 'gone' as const };
    this.#options.logger.info({ resource }, 'a device plugin has registered');
    this.#pending.get(resource)?.();
    this.#resources.set(resource, { devices, state, preStart: options.preStart, registered });
    const watch = plugin.watch({
      devices: (list) => this.#set(resource, { devices: list, state: 'there', preStart: options.preStart, registered }),
      ended: (error) => {
        this.#options.logger.warn({ resource, err: error.message }, 'a device plugin has gone');
        this.#leave(resource);
      },
    });
    this.#pending.set(resource, watch);
  }

  /** The plugin's socket is gone. One that has been replaced meanwhile counts no more. */
  unregister(registered: RegisteredPlugin): void {
    if (this.#resources.get(registered.resource)?.registered === registered) this.#leave(registered.resource);
  }

  /** Resolves as soon as it is known whether the resource's plugin is there. */
  async ready(resource: string): Promise<ReadyResource> {
    while (this.#resources.get(resource)?.state === 'returning' && !this.#stopped) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    const found = this.#resources.get(resource);
    const { devices = [], state, preStart = false, registered } = found ?? {};
    const isThere = state === 'there';
    return {
      devices: isThere
        ? devices
        : devices.length === 0
          ? undefined
          : devices.map((one) => ({ ...one, healthy: false })),
      plugin: isThere ? registered?.plugin : undefined,
      options: { preStart, preference: isThere && registered?.options.preference === true },
    };
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#pending.values()) cancel();
    this.#wake();
  }

  #load(key: string, value: unknown): void {
    const { fact, clock, logger } = this.#options;
    const parsed = resourceRecordSchema.safeParse(value);
    if (!parsed.success) {
      logger.error({ resource: key, err: parsed.error }, 'the record of a resource is not understood');
      return;
    }
    const { resource, devices, gone, preStart } = parsed.data;
    const found: Resource = { devices, state: gone ? 'gone' : 'returning', preStart, registered: undefined };
    this.#resources.set(resource, found);
    fact.put(resource, factOf(resource, found));
    if (gone) this.#awaitEnd(resource);
    else
      this.#pending.set(
        resource,
        clock.after(RETURN_MS, () => this.#leave(resource)),
      );
  }

  /** Its devices can not be given any more, and after a while they are none. */
  #leave(resource: string): void {
    const found = this.#resources.get(resource);
    if (found === undefined || this.#stopped) return;
    this.#pending.get(resource)?.();
    this.#set(resource, { ...found, state: 'gone' });
    this.#awaitEnd(resource);
  }

  #awaitEnd(resource: string): void {
    this.#pending.set(
      resource,
      this.#options.clock.after(GRACE_MS, () => {
        const found = this.#resources.get(resource);
        if (found !== undefined) this.#set(resource, { ...found, devices: [] });
      }),
    );
  }

  #set(resource: string, found: Resource): void {
    const { fact, logger, records, changed } = this.#options;
    this.#resources.set(resource, found);
    const { devices, state, preStart } = found;
    const record = { version: 1, resource, devices, gone: state === 'gone', preStart };
    records.put(resource, record).catch((error: unknown) => {
      logger.error({ resource, err: toError(error) }, 'the record of a resource could not be written');
    });
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
    gone: state === 'gone',
  };
}

/** Where a device is, as facts tell it. */
export function topologyOf(numaNodes: readonly number[]): { topology?: { numaNodes: number[] } } {
  return numaNodes.length === 0 ? {} : { topology: { numaNodes: [...numaNodes] } };
}
