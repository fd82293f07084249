import { CommandFailed } from '@kubus/bus';
import { ContainerConfigError, type ContainerSettings } from '@kubus/container-config';
import { type Container, type ContainerDevices, type Pod, allocateDevices, podRefOf } from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { exclusiveRequest } from '@kubus/exclusive';
import { type PodSync, unlessCancelled } from '../sync/pod-sync.ts';
import { repeated } from '../sync/repeated.ts';
import { containerClaimDevices } from '../claims/claims-step.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** What allocating devices, and CPUs and memory for the container itself, uses. */
export type DeviceSync = PodSync &
  Pick<WorkerDeps, 'bus' | 'cpuPool' | 'exclusive'> & {
    /** The CPUs that runs of containers were started with, or have been given since. By name and attempt. */
    readonly cpuSets: Map<string, string>;
  };

/** The devices and settings that a container gets from device plugins, and the CPUs and NUMA nodes that it uses. */
type DeviceSettings = Pick<
  ContainerSettings,
  'cpuset' | 'devices' | 'cdiDevices' | 'deviceAnnotations' | 'deviceMounts' | 'deviceVariables'
>;

/**
 * What a container that is about to start gets, from its claims first; plugins prepare their devices. All was allocated to the pod earlier,
 * and is the same at each start.
 *
 * Throws a ContainerConfigError when a plugin prevents the container from starting.
 */
export async function containerDevices(sync: DeviceSync, pod: Pod, container: Container): Promise<DeviceSettings> {
  const claimed = await containerClaimDevices(sync, pod, container);
  const given = await ownThings(sync, pod, container.name);
  const own = { ...given, cdiDevices: [...claimed.map((name) => ({ name })), ...(given.cdiDevices ?? [])] };
  const pool = sync.cpuPool();
  return pool === undefined ? own : { ...own, cpuset: { cpus: pool, ...own.cpuset } };
}

/** What is allocated to a container of the pod. See {@link containerDevices}. */
export async function ownThings(sync: DeviceSync, pod: Pod, name: string): Promise<DeviceSettings> {
  const requests = [...deviceRequests(pod)];
  const { containers: exclusive, whole } = (sync.exclusive && exclusiveRequest(pod, sync.exclusive)) ?? {};
  const isExclusive =
    exclusive?.some((one) => one.name === name && (one.cpus > 0 || one.memory !== undefined)) === true;
  if (!isExclusive && requests.every((one) => one.name !== name)) return {};
  const request = {
    ...{ ref: podRefOf(pod), requests, starting: name },
    ...(exclusive !== undefined && { exclusive: [...exclusive] }),
    ...(whole !== undefined && { whole }),
  };
  const { bus, ref, runtime } = sync;
  try {
    // A plugin may be called more than once to prepare the same start.
    const { result } = await repeated(() =>
      unlessCancelled(sync, bus.call(allocateDevices, ref.uid, request, { causes: runtime.cause })),
    );
    return settingsOf(result.containers[name]);
  } catch (error) {
    if (error instanceof CommandFailed) throw new ContainerConfigError(error.message, { cause: error });
    throw error;
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
    ...(given.cpuset !== undefined && { cpuset: given.cpuset }),
  };
}
