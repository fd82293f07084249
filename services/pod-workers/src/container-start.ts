import {
  ContainerConfigError,
  type ContainerSettings,
  type MountedVolume,
  containerTemplate,
} from '@kubus/container-config';
import { type Pod, podRefOf } from '@kubus/contracts';
import {
  type ContainerStart,
  backOffRemaining,
  crashLoopKey,
  formatWait,
  isLetThrough,
  lengthenBackOff,
  nanosToMs,
  newestContainer,
} from '@kubus/pod-lifecycle';
import { KubusError, toError } from '@kubus/ports';
import { containerDevices } from './container-devices.ts';
import { hasRecursiveReadOnly } from './handler-features.ts';
import { HookFailed, runHook } from './hooks.ts';
import { type ImageVolumes, mountedImages } from './image-volumes.ts';
import { type ContainerImage, ImageError, ensureImage } from './images.ts';
import { knownServices, processToComplete } from './objects.ts';
import { ownUsers } from './own-users.ts';
import { type Pass, checkCancelled, recordEvent, unlessCancelled } from './pass.ts';
import { isAnswer, throwIfObjectsAwaited } from './runtime-answer.ts';
import type { SandboxInUse } from './sandbox.ts';
import { stopContainers } from './stop.ts';
import { recordSize } from './resize.ts';
import { containerSubPaths } from './sub-paths.ts';
import { mountedVolumes, volumeFolder, volumeGroups } from './volumes.ts';

/** A container did not start; the others of the pod are tried all the same. */
export class StartFailed extends KubusError {
  /** Milliseconds until it makes sense to try again; undefined: the usual time. */
  readonly waitMs: number | undefined;

  constructor(reason: string, message: string, options: { waitMs?: number | undefined; cause?: unknown } = {}) {
    super(reason, message, { cause: options.cause });
    this.waitMs = options.waitMs;
  }
}

/** Pods get no swap (kubelet behaviour 1.20). */
const NO_SWAP = { behavior: 'NoSwap', capacity: 0n } as const;

/** Reasons of which the container's user is told with the message; the others have events of their own. */
const TOLD = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'];

/** What a pod's containers are started with. */
export interface ReadyPod extends SandboxInUse {
  readonly images: ImageVolumes;
}

/**
 * Starts one container: back-off, image, create, start, postStart handler (kubelet behaviour 1.5, startContainer). On
 * failure the reason is left in `pass.waiting`, where the status finds it. Throws {@link StartFailed}.
 */
export async function startContainer(pass: Pass, pod: Pod, ready: ReadyPod, start: ContainerStart): Promise<void> {
  const { container } = start;
  let made = start.created?.id;
  try {
    await awaitBackOff(pass, start);
    pass.deps.metrics.container(start.kind);
    const id = made ?? (await createContainer(pass, pod, ready, start));
    made = id;
    checkCancelled(pass);
    const run = async () => {
      await attempt('RunContainerError', () =>
        pass.runtime.change('StartContainer', { containerId: id }, pass.runtime.cause),
      );
      pass.waiting.delete(container.name);
      await linkLog(pass, start, id);
      recordEvent(pass, { type: 'Normal', reason: 'Started', message: 'Container started', container });
      await runPostStart(pass, start, id);
    };
    // A container counts as running only when its handler has ended.
    await (container.lifecycle?.postStart === undefined ? run() : pass.withStatusHeld(run));
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    pass.waiting.set(container.name, { reason: error.code, message: error.message });
    endLetThrough(pass, start);
    if (TOLD.includes(error.code)) {
      // The runtime's id is another one each time: with it, no two events would count as the same.
      const text = made === undefined ? error.message : error.message.replaceAll(made, container.name);
      recordEvent(pass, { type: 'Warning', reason: 'Failed', message: `Error: ${text}`, container });
    }
    throw error;
  }
}

/** A container that ended a short while ago is not started again yet; one that may start waits longer the next time. */
async function awaitBackOff(pass: Pass, { container, previous, attempt }: ContainerStart): Promise<void> {
  if (previous?.state !== 'exited') return;
  const { clock, crashLoop } = pass.deps;
  const now = clock.now();
  const key = crashLoopKey(container);
  const endedAt = nanosToMs(previous.finishedAt);
  const entry = pass.backOffs.get(key);
  if (isLetThrough(entry, attempt)) return;
  const remaining = backOffRemaining(entry, endedAt, now, crashLoop);
  if (remaining > 0 && entry !== undefined) {
    const { ref } = pass;
    const wait = formatWait(entry.waitMs);
    const of = `container=${container.name} pod=${ref.name}_${ref.namespace}(${ref.uid})`;
    const text = `Back-off restarting failed container ${container.name} in pod ${ref.name}_${ref.namespace}(${ref.uid})`;
    recordEvent(pass, { type: 'Warning', reason: 'BackOff', message: text, container });
    throw new StartFailed('CrashLoopBackOff', `back-off ${wait} restarting failed ${of}`, { waitMs: remaining });
  }
  pass.backOffs.set(key, { ...lengthenBackOff(entry, endedAt, now, crashLoop), attempt });
  await pass.save();
}

/** An attempt that has failed waits before it is made again. */
function endLetThrough(pass: Pass, { container, attempt }: ContainerStart): void {
  const key = crashLoopKey(container);
  const entry = pass.backOffs.get(key);
  if (entry !== undefined && isLetThrough(entry, attempt)) pass.backOffs.set(key, { ...entry, attempt: undefined });
}

async function createContainer(pass: Pass, pod: Pod, ready: ReadyPod, start: ContainerStart): Promise<string> {
  const { container } = start;
  const images = await imagesOf(pass, pod, ready, start);
  checkCancelled(pass);
  const { config, process } = await templateOf(pass, pod, ready, start, images);
  if (start.kind === 'regular' || start.kind === 'sidecar') await recordSize(pass, pod, container);
  const { containerId } = await attempt('CreateContainerError', () =>
    pass.runtime.change(
      'CreateContainer',
      { podSandboxId: ready.id, config, sandboxConfig: ready.config },
      pass.runtime.cause,
      { process },
    ),
  );
  recordEvent(pass, { type: 'Normal', reason: 'Created', message: 'Container created', container });
  return containerId ?? '';
}

/** The images that a container is made of. */
interface Images {
  readonly own: ContainerImage;
  readonly mounted: readonly [string, MountedVolume][];
}

async function imagesOf(
  pass: Pass,
  pod: Pod,
  { config, images }: ReadyPod,
  { container }: ContainerStart,
): Promise<Images> {
  try {
    const mounted = mountedImages(images, container);
    const { image: name = '', imagePullPolicy: policy } = container;
    return { own: await ensureImage(pass, pod, { name, policy, container }, config), mounted };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    recordEvent(pass, { type: 'Warning', reason: 'Failed', message: `Error: ${error.code}`, container });
    throw new StartFailed(error.code, error.message, { waitMs: error.waitMs, cause: error });
  }
}

async function templateOf(pass: Pass, pod: Pod, sandbox: SandboxInUse, start: ContainerStart, images: Images) {
  const { kernel, memoryCapacity, allocatable, nodeIps } = pass.deps;
  const { container } = start;
  const files = await makeFiles(pass, pod, sandbox, start);
  try {
    const targetContainerId = targetOf(pass, start);
    const settings: ContainerSettings = {
      attempt: start.attempt,
      imageId: images.own.id,
      ...(images.own.user !== undefined && { imageUser: images.own.user }),
      ...(targetContainerId !== undefined && { targetContainerId }),
      memoryCapacity,
      ...kernel,
      ...(kernel?.accountsForSwap === true && { swap: NO_SWAP }),
      allocatable,
      podIps: sandbox.ips,
      hostIps: nodeIps,
      ...files,
      ...ownUsers(pass, pod),
      services: knownServices(pass, pod),
      ...volumeGroups(pass, pod),
      volumes: new Map([...mountedVolumes(pass, container), ...images.mounted]),
      volumeFolder: (name) => volumeFolder(pass, name),
      recursiveReadOnly: hasRecursiveReadOnly(pass.deps, pod),
      ...(await containerDevices(pass, pod, container)),
    };
    const subPaths = await containerSubPaths(pass, pod, container, settings);
    const { config, process } = containerTemplate(pod, container, { ...settings, subPaths });
    return { config, process: processToComplete(pass, pod, process) };
  } catch (error) {
    if (!(error instanceof ContainerConfigError)) throw error;
    throw new StartFailed(error.code, error.message, { cause: error });
  }
}

/** What a container needs on the machine before it is made. */
async function makeFiles(pass: Pass, pod: Pod, sandbox: SandboxInUse, { container, attempt }: ContainerStart) {
  const { files } = pass.deps;
  const ref = podRefOf(pod);
  try {
    await files.makeLogFolder(ref, container.name);
    const terminationLogPath = await files.makeTerminationLog(ref, container.name, attempt);
    return { terminationLogPath, etcHostsPath: await files.writeHostsFile(pod, sandbox.ips) };
  } catch (error) {
    throw new StartFailed('CreateContainerConfigError', toError(error).message, { cause: error });
  }
}

/** The container into whose processes an ephemeral container looks. */
function targetOf(pass: Pass, { container }: ContainerStart): string | undefined {
  const name = 'targetContainerName' in container ? (container.targetContainerName ?? '') : '';
  if (name === '') return undefined;
  const target = newestContainer(pass.runtime.pod, name);
  if (target === undefined) throw new ContainerConfigError(`unable to find target container ${name}`);
  return target.id;
}

/** A log that collectors can not find is no reason to end the container that writes it. */
async function linkLog({ deps, logger, ref }: Pass, { attempt, container }: ContainerStart, id: string): Promise<void> {
  try {
    await deps.files.linkLog(ref, { name: container.name, attempt, id });
  } catch (error) {
    logger.error({ err: toError(error), container: container.name }, 'the link to the log could not be made');
  }
}

/** A container whose postStart handler fails is ended (kubelet behaviour 1.5). */
async function runPostStart(pass: Pass, { container }: ContainerStart, containerId: string): Promise<void> {
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) return;
  try {
    await unlessCancelled(pass, runHook(pass, { containerId, container }, handler, pass.signal));
  } catch (error) {
    if (!(error instanceof HookFailed)) throw error;
    const message = 'PostStartHook failed';
    recordEvent(pass, { type: 'Warning', reason: 'FailedPostStartHook', message, container });
    const run = (await pass.fresh())?.containers.find(({ id }) => id === containerId);
    const stops = run === undefined ? [] : [{ container: run, message: 'FailedPostStartHook' }];
    await stopContainers(pass, stops, { ordered: false });
    throw new StartFailed('PostStartHookError', error.message, { cause: error });
  }
}

/** The runtime's refusal becomes a reason that users know. Everything else is not the container's fault. */
async function attempt<T>(reason: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throwIfObjectsAwaited(error);
    // What only the bridge could see is the pod's fault all the same.
    if (isAnswer(error) && error.code === 'CreateContainerConfigError') {
      throw new StartFailed(error.code, error.message, { cause: error });
    }
    if (isAnswer(error)) throw new StartFailed(reason, error.message, { cause: error });
    throw error;
  }
}
