import type { ServiceError } from '@grpc/grpc-js';
import type { ContainerDevices } from '@kubus/contracts';
import type { KnownDevice, PreferenceQuestion } from '@kubus/device-manager';
import { PluginCallError, callPlugin, pluginClient } from '@kubus/plugin-registration';
import { type Cancel, KubusError } from '@kubus/ports';
import { type Device, DevicePluginService } from '@kubus/proto/device-plugin-grpc';

/**
 * How long a plugin may take for a call, in milliseconds. The reference gives PreStartContainer 30 s and waits for all others
 * without an end; here a plugin that hangs holds up the pods that want its devices for as long at most.
 */
const LIMIT_MS = 30_000;

export interface DevicePluginOptions {
  /** It wants to hear of each start of a container that has its devices. */
  readonly preStart: boolean;
  /** It may be asked which devices it would choose. */
  readonly preference: boolean;
}

export interface DeviceListener {
  /** All devices of the plugin, now. */
  devices(devices: readonly KnownDevice[]): void;
  /** The plugin does not tell any more: it is gone. Not called after the watch has been cancelled. */
  ended(error: Error): void;
}

/** One device plugin, behind its socket (kubelet behaviour 1.21, Device plugin). Its calls throw PluginCallError. */
export class DevicePlugin {
  readonly #socket: string;
  readonly #limitMs: number;

  /** @param limitMs how long a call may take */
  constructor(socket: string, limitMs = LIMIT_MS) {
    this.#socket = socket;
    this.#limitMs = limitMs;
  }

  async options(): Promise<DevicePluginOptions> {
    const answer = await callPlugin(this.#callee, DevicePluginService.getDevicePluginOptions, {});
    return { preStart: answer.preStartRequired, preference: answer.getPreferredAllocationAvailable };
  }

  /** Follows the plugin's devices, until the returned function is called or the plugin ends it. */
  watch(listener: DeviceListener): Cancel {
    const client = pluginClient(this.#socket);
    const { path, requestSerialize, responseDeserialize } = DevicePluginService.listAndWatch;
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {});
    let over = false;
    const end = (error?: Error) => {
      if (over) return;
      over = true;
      stream.cancel();
      client.close();
      if (error !== undefined) listener.ended(error);
    };
    stream.on('data', ({ devices }: { devices: Device[] }) => {
      if (!over) listener.devices(devices.map(knownDevice));
    });
    stream.on('error', (error: ServiceError) => end(new PluginCallError(path, error, error)));
    stream.on('end', () => end(new KubusError('ended', 'the plugin has ended the list of its devices')));
    return () => end();
  }

  /** Which devices the plugin would choose. */
  async preferred({ available, mustInclude, size }: PreferenceQuestion): Promise<readonly string[]> {
    const request = {
      availableDeviceIDs: [...available],
      mustIncludeDeviceIDs: [...mustInclude],
      allocationSize: size,
    };
    const answer = await callPlugin(this.#callee, DevicePluginService.getPreferredAllocation, {
      containerRequests: [request],
    });
    return answer.containerResponses[0]?.deviceIDs ?? [];
  }

  /** What a container needs besides, to use these devices. Throws a KubusError when the plugin does not say. */
  async allocate(ids: readonly string[]): Promise<ContainerDevices> {
    const containerRequests = [{ devicesIds: [...ids] }];
    const { containerResponses } = await callPlugin(this.#callee, DevicePluginService.allocate, { containerRequests });
    const [answer] = containerResponses;
    if (answer === undefined) throw new KubusError('no-answer', 'no containers return in allocation response {}');
    const { envs, mounts, devices, annotations, cdiDevices } = answer;
    return { envs, mounts, devices, annotations, cdiDevices: cdiDevices.map(({ name }) => name) };
  }

  /** A container that has these devices is about to start. */
  async preStart(ids: readonly string[]): Promise<void> {
    await callPlugin(this.#callee, DevicePluginService.preStartContainer, { devicesIds: [...ids] });
  }

  get #callee() {
    return { socket: this.#socket, limitMs: this.#limitMs };
  }
}

/** A device that is not `Healthy` is not healthy, whatever else it is called. */
function knownDevice({ ID: id, health, topology }: Device): KnownDevice {
  return { id, healthy: health === 'Healthy', numaNodes: (topology?.nodes ?? []).map((node) => Number(node.ID)) };
}
