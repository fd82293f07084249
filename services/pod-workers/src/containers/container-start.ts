import type { MountedVolume } from '@kubus/container-config';
import type { Pod } from '@kubus/contracts';
import type { ContainerStart } from '@kubus/pod-lifecycle';
import { toError } from '@kubus/ports';
import { mountedImages } from '../images/image-volumes.ts';
import { type ContainerImage, ImageError, type ImageSync, ensureImage } from '../images/images.ts';
import type { RecordSizeSync } from '../resize/record-size.ts';
import { isAnswer, throwIfObjectsAwaited } from '../runtime/runtime-answer.ts';
import { type StatusSync, checkCancelled, recordEvent, unlessCancelled } from '../sync/pod-sync.ts';
import type { PodMemory } from '../worker/pod-memory.ts';
import { type ReadyPod, type TemplateSync, templateOf } from './container-template.ts';
import { type StopSync, stopContainers } from './container-stop.ts';
import { type BackOffSync, applyBackOff, endLetThrough } from './crash-loop.ts';
import { HookFailed, runHook } from './hooks.ts';
import { StartFailed } from './start-failed.ts';

/** What starting a container uses. */
export type StartSync = BackOffSync &
  ImageSync &
  RecordSizeSync &
  TemplateSync &
  StopSync &
  StatusSync &
  Pick<PodMemory, 'waiting'>;

/** Waiting reasons that are also recorded as an event `Failed` with their message; the others have their own events. */
const reasonsWithEvent = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'];

/**
 * Starts one container: back-off, image, create, start, postStart handler (behaviour:container-actions, startContainer). On
 * failure the reason is stored in `sync.waiting`, from which the status takes it. Throws {@link StartFailed}.
 */
export async function startContainer(sync: StartSync, pod: Pod, ready: ReadyPod, start: ContainerStart): Promise<void> {
  const { container } = start;
  let created = start.created?.id;
  try {
    await applyBackOff(sync, start);
    sync.metrics.container(start.kind);
    const id = created ?? (await createContainer(sync, pod, ready, start));
    created = id;
    checkCancelled(sync);
    const run = async () => {
      await attempt('RunContainerError', () =>
        sync.runtime.change('StartContainer', { containerId: id }, sync.runtime.cause),
      );
      sync.waiting.delete(container.name);
      await linkLog(sync, start, id);
      recordEvent(sync, { type: 'Normal', reason: 'Started', message: 'Container started', container });
      await runPostStart(sync, start, id);
    };
    // A container counts as running only after its handler has ended.
    await (container.lifecycle?.postStart === undefined ? run() : sync.withStatusHeld(run));
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    sync.waiting.set(container.name, { reason: error.code, message: error.message });
    endLetThrough(sync, start);
    if (reasonsWithEvent.includes(error.code)) {
      // The runtime's ID differs each time: with it in the message, no two events would count as the same.
      const text = created === undefined ? error.message : error.message.replaceAll(created, container.name);
      recordEvent(sync, { type: 'Warning', reason: 'Failed', message: `Error: ${text}`, container });
    }
    throw error;
  }
}

async function createContainer(sync: StartSync, pod: Pod, ready: ReadyPod, start: ContainerStart): Promise<string> {
  const { container } = start;
  const images = await imagesOf(sync, pod, ready, start);
  checkCancelled(sync);
  const { config, process } = await templateOf(sync, pod, ready, start, images);
  const { containerId } = await attempt('CreateContainerError', () =>
    sync.runtime.change(
      'CreateContainer',
      { podSandboxId: ready.id, config, sandboxConfig: ready.config },
      [...sync.runtime.cause, ...(images.own.cause === undefined ? [] : [images.own.cause])],
      { process },
    ),
  );
  recordEvent(sync, { type: 'Normal', reason: 'Created', message: 'Container created', container });
  return containerId ?? '';
}

async function imagesOf(
  sync: ImageSync,
  pod: Pod,
  ready: ReadyPod,
  { container }: ContainerStart,
): Promise<{ own: ContainerImage; mounted: readonly [string, MountedVolume][] }> {
  try {
    const mounted = mountedImages(ready.images, container);
    const { image: name = '', imagePullPolicy: policy } = container;
    return { own: await ensureImage(sync, pod, { name, policy, container }, ready), mounted };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    recordEvent(sync, { type: 'Warning', reason: 'Failed', message: `Error: ${error.code}`, container });
    throw new StartFailed(error.code, error.message, { waitMs: error.waitMs, cause: error });
  }
}

/** A missing link for log collectors is no reason to stop the container that writes the log. */
async function linkLog(
  { files, logger, ref }: StartSync,
  { attempt, container }: ContainerStart,
  id: string,
): Promise<void> {
  try {
    await files.linkLog(ref, { name: container.name, attempt, id });
  } catch (error) {
    logger.error({ err: toError(error), container: container.name }, 'container log link failed');
  }
}

/** A container whose postStart handler fails is stopped (behaviour:container-actions). */
async function runPostStart(sync: StartSync, { container }: ContainerStart, containerId: string): Promise<void> {
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) return;
  try {
    await unlessCancelled(sync, runHook(sync, { containerId, container }, handler, sync.signal));
  } catch (error) {
    if (!(error instanceof HookFailed)) throw error;
    const message = 'PostStartHook failed';
    recordEvent(sync, { type: 'Warning', reason: 'FailedPostStartHook', message, container });
    const run = (await sync.fresh())?.containers.find(({ id }) => id === containerId);
    const stops = run === undefined ? [] : [{ container: run, message: 'FailedPostStartHook' }];
    await stopContainers(sync, stops, { ordered: false });
    throw new StartFailed('PostStartHookError', error.message, { cause: error });
  }
}

/** The runtime's refusal becomes a reason that users know. All other errors are not caused by the container. */
async function attempt<T>(reason: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throwIfObjectsAwaited(error);
    // What only the bridge can check may still be an error of the pod.
    if (isAnswer(error) && error.code === 'CreateContainerConfigError') {
      throw new StartFailed(error.code, error.message, { cause: error });
    }
    if (isAnswer(error)) throw new StartFailed(reason, error.message, { cause: error });
    throw error;
  }
}
