import {
  ContainerConfigError,
  type ContainerSettings,
  type MountedVolume,
  containerTemplate,
} from '@kubus/container-config';
import { type Pod, podRefOf } from '@kubus/contracts';
import { type ContainerStart, newestContainer } from '@kubus/pod-lifecycle';
import { toError } from '@kubus/ports';
import { type DeviceSync, containerDevices } from '../devices/container-devices.ts';
import { runKey, withoutQuota } from '../devices/cpu-sets.ts';
import type { ImageVolumes } from '../images/image-volumes.ts';
import type { ContainerImage, ImageSource } from '../images/images.ts';
import { knownServices, processToComplete } from '../objects/objects.ts';
import { hasRecursiveReadOnly } from '../sandbox/handler-features.ts';
import type { SandboxInUse } from '../sandbox/sandbox-in-use.ts';
import { type UserSync, ownUsers } from '../sandbox/user-namespace.ts';
import type { PodSync } from '../sync/pod-sync.ts';
import { containerSubPaths } from '../volumes/sub-paths.ts';
import { type VolumeSync, mountedVolumes, volumeFolder, volumeGroups } from '../volumes/volumes.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { StartFailed } from './start-failed.ts';

/** What a container's configuration is built from. */
export type TemplateSync = UserSync &
  VolumeSync &
  DeviceSync &
  Pick<WorkerDeps, 'allocatable' | 'enforcement' | 'files' | 'kernel' | 'memoryCapacity' | 'nodeIps' | 'seccomp'>;

/** What a pod's containers are started with. */
export interface ReadyPod extends SandboxInUse, ImageSource {
  readonly images: ImageVolumes;
}

/**
 * A container's configuration for the runtime, and the process that it runs. Creates the files that it mounts.
 * Throws {@link StartFailed}.
 */
export async function templateOf(
  sync: TemplateSync,
  pod: Pod,
  sandbox: SandboxInUse,
  start: ContainerStart,
  images: { readonly own: ContainerImage; readonly mounted: readonly [string, MountedVolume][] },
) {
  const { enforcement, kernel, memoryCapacity, allocatable, nodeIps, seccomp } = sync;
  const { container } = start;
  const files = await makeFiles(sync, pod, sandbox, start);
  try {
    const targetContainerId = targetOf(sync, start);
    const settings: ContainerSettings = {
      attempt: start.attempt,
      imageId: images.own.id,
      ...(images.own.user !== undefined && { imageUser: images.own.user }),
      ...(targetContainerId !== undefined && { targetContainerId }),
      memoryCapacity,
      ...kernel,
      ...enforcement,
      ...seccomp,
      allocatable: allocatable(),
      podIps: sandbox.ips,
      hostIps: nodeIps(),
      ...files,
      ...ownUsers(sync, pod),
      services: knownServices(sync, pod),
      ...volumeGroups(sync, pod),
      volumes: new Map([...mountedVolumes(sync, container), ...images.mounted]),
      volumeFolder: (name) => volumeFolder(sync, name),
      recursiveReadOnly: hasRecursiveReadOnly(sync, pod),
      exclusiveCpus: withoutQuota(sync, pod, container.name),
      ...(await containerDevices(sync, pod, container)),
    };
    const { cpus } = settings.cpuset ?? {};
    if (cpus !== undefined) sync.cpuSets.set(runKey({ name: container.name, attempt: start.attempt }), cpus);
    const subPaths = await containerSubPaths(sync, pod, container, settings);
    const { config, process } = containerTemplate(pod, container, { ...settings, subPaths });
    return { config, process: processToComplete(sync, pod, process) };
  } catch (error) {
    if (!(error instanceof ContainerConfigError)) throw error;
    throw new StartFailed(error.code, error.message, { cause: error });
  }
}

/** Creates what a container needs on the machine before the container is created. */
async function makeFiles(
  { files }: TemplateSync,
  pod: Pod,
  sandbox: SandboxInUse,
  { container, attempt }: ContainerStart,
) {
  const ref = podRefOf(pod);
  try {
    await files.makeLogFolder(ref, container.name);
    const terminationLogPath = await files.makeTerminationLog(ref, container.name, attempt);
    return { terminationLogPath, etcHostsPath: await files.writeHostsFile(pod, sandbox.ips) };
  } catch (error) {
    throw new StartFailed('CreateContainerConfigError', toError(error).message, { cause: error });
  }
}

/** The ID of the container that an ephemeral container targets. */
function targetOf({ runtime }: PodSync, { container }: ContainerStart): string | undefined {
  const name = 'targetContainerName' in container ? (container.targetContainerName ?? '') : '';
  if (name === '') return undefined;
  const target = newestContainer(runtime.pod, name);
  if (target === undefined) throw new ContainerConfigError(`unable to find target container ${name}`);
  return target.id;
}
