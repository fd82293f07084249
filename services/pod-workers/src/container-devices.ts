import { CommandFailed, PeerRestarted } from '@kubus/bus';
import { ContainerConfigError, type ContainerSettings } from '@kubus/container-config';
import { type Container, type ContainerDevices, type Pod, allocateDevices, podRefOf } from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { type Pass, unlessCancelled } from './pass.ts';

/** What a container gets of device plugins. */
type DeviceSettings = Pick<
  ContainerSettings,
  'devices' | 'cdiDevices' | 'deviceAnnotations' | 'deviceMounts' | 'deviceVariables'
>;

/**
 * The devices of a container that is about to start, of which their plugins hear. They have been given to the pod before, and
 * are the same at each start.
 *
 * Throws ContainerConfigError when a plugin keeps the container from starting.
 */
export async function containerDevices(pass: Pass, pod: Pod, { name }: Container): Promise<DeviceSettings> {
  const requests = [...deviceRequests(pod)];
  if (requests.every((one) => one.name !== name)) return {};
  const request = { ref: podRefOf(pod), requests, starting: name };
  for (;;) {
    try {
      const call = pass.deps.bus.call(allocateDevices, pass.ref.uid, request, { causes: pass.runtime.cause });
      const { containers } = (await unlessCancelled(pass, call)).result;
      return settingsOf(containers[name]);
    } catch (error) {
      if (error instanceof CommandFailed) throw new ContainerConfigError(error.message, { cause: error });
      // It does not matter to a plugin how often it hears of a start.
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
