import { CommandFailed, PeerRestarted } from '@kubus/bus';
import { ContainerConfigError, type ContainerSettings } from '@kubus/container-config';
import { type Container, type ContainerDevices, type Pod, allocateDevices, podRefOf } from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { type PodSync, unlessCancelled } from '../sync/pod-sync.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** What allocating devices uses. */
export type DeviceSync = PodSync & Pick<WorkerDeps, 'bus'>;

/** The devices and settings that a container gets from device plugins. */
type DeviceSettings = Pick<
  ContainerSettings,
  'devices' | 'cdiDevices' | 'deviceAnnotations' | 'deviceMounts' | 'deviceVariables'
>;

/**
 * The devices of a container that is about to start; their plugins prepare them. They were allocated to the pod earlier,
 * and are the same at each start.
 *
 * Throws a ContainerConfigError when a plugin prevents the container from starting.
 */
export async function containerDevices(sync: DeviceSync, pod: Pod, { name }: Container): Promise<DeviceSettings> {
  const requests = [...deviceRequests(pod)];
  if (requests.every((one) => one.name !== name)) return {};
  const request = { ref: podRefOf(pod), requests, starting: name };
  for (;;) {
    try {
      const call = sync.bus.call(allocateDevices, sync.ref.uid, request, { causes: sync.runtime.cause });
      const { containers } = (await unlessCancelled(sync, call)).result;
      return settingsOf(containers[name]);
    } catch (error) {
      if (error instanceof CommandFailed) throw new ContainerConfigError(error.message, { cause: error });
      // A plugin may be called more than once to prepare the same start.
      if (!(error instanceof PeerRestarted)) throw error;
    }
  }
}

function settingsOf(given: ContainerDevices | undefined): DeviceSettings {
  if (given === undefined) return {};
  return {
    devices: given.devices,
    cdiDevices: given.cdiDevices.map((name) => ({ name })),
    deviceAnnotations: given.annotations,
    deviceMounts: given.mounts.map(({ readOnly, ...paths }) => ({ ...paths, readonly: readOnly })),
    deviceVariables: Object.entries(given.envs).map(([name, value]) => ({ name, value })),
  };
}
