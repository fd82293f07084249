import type { ContainerDevices } from '@kubus/contracts';
import type { KnownDevice, PreferenceQuestion } from '@kubus/device-manager';
import { callPlugin } from '../registration/call.ts';
import { followPlugin } from '../registration/stream.ts';
import { type Cancel, KubusError } from '@kubus/ports';
import { ContainerAllocateResponse, type Device, DevicePluginService } from '@kubus/proto/device-plugin-grpc';

/**
 * How long a plugin may take for a call, in milliseconds. The reference allows 30 s for PreStartContainer and has no limit for
 * all others; here this limits how long a hanging plugin delays pods that request its devices.
 */
const LIMIT_MS = 30_000;

export interface DevicePluginOptions {
  /** It requires a call before each start of a container with its devices. */
  readonly preStart: boolean;
  /** It supports GetPreferredAllocation. */
  readonly preference: boolean;
}

export interface DeviceListener {
  /** All devices of the plugin, now. */
  devices(devices: readonly KnownDevice[]): void;
  /** The plugin has ended its list, so it counts as removed. Not called after the watch was cancelled. */
  ended(error: Error): void;
}

/** One device plugin, behind its socket (behaviour:resource-managers, Device plugin). Its calls throw PluginCallError. */
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
    return followPlugin(
      this.#socket,
      DevicePluginService.listAndWatch,
      {},
      {
        message: ({ devices }) => listener.devices(devices.map(knownDevice)),
        ended: (error) => listener.ended(error),
      },
    );
  }

  /** The devices that the plugin prefers. */
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

  /** The settings that a container needs to use these devices. Throws a KubusError when the plugin returns none. */
  async allocate(ids: readonly string[]): Promise<ContainerDevices> {
    const containerRequests = [{ devicesIds: [...ids] }];
    const { containerResponses } = await callPlugin(this.#callee, DevicePluginService.allocate, { containerRequests });
    const [answer] = containerResponses;
    if (answer === undefined) throw new KubusError('no-answer', 'no containers return in allocation response {}');
    return devicesOfAnswer(answer);
  }

  /** Notifies the plugin before a container with these devices starts. */
  async preStart(ids: readonly string[]): Promise<void> {
    await callPlugin(this.#callee, DevicePluginService.preStartContainer, { devicesIds: [...ids] });
  }

  get #callee() {
    return { socket: this.#socket, limitMs: this.#limitMs };
  }
}

/** Any health other than `Healthy` counts as unhealthy. */
function knownDevice({ ID: id, health, topology }: Device): KnownDevice {
  return { id, healthy: health === 'Healthy', numaNodes: (topology?.nodes ?? []).map((node) => Number(node.ID)) };
}

/** A plugin's answer for one container, as the reference keeps it. */
export function encodeAnswer({ envs, mounts, devices, annotations, cdiDevices }: ContainerDevices): Uint8Array {
  const all = { envs, mounts, devices, annotations, cdiDevices: cdiDevices.map((name) => ({ name })) };
  return ContainerAllocateResponse.encode(all).finish();
}

/** Throws when the bytes are not such an answer. */
export function decodeAnswer(bytes: Uint8Array): ContainerDevices {
  return devicesOfAnswer(ContainerAllocateResponse.decode(bytes));
}

function devicesOfAnswer(answer: ContainerAllocateResponse): ContainerDevices {
  const { envs, mounts, devices, annotations, cdiDevices } = answer;
  return { envs, mounts, devices, annotations, cdiDevices: cdiDevices.map(({ name }) => name) };
}
