import { CommandFailed } from '@kubus/bus';
import { type Pod, podRefOf } from '@kubus/contracts';
import { containerConfig } from '@kubus/container-config';
import {
  type ContainerStart,
  backOffRemaining,
  crashLoopKey,
  formatWait,
  lengthenBackOff,
  nanosToMs,
} from '@kubus/pod-lifecycle';
import { KubusError } from '@kubus/ports';
import type { PodSandboxConfig } from '@kubus/proto/cri';
import { ImageError, ensureImage } from './images.ts';
import { type Pass, checkCancelled, recordEvent } from './pass.ts';

/** The sandbox in which a container is to run. */
export interface SandboxInUse {
  readonly id: string;
  readonly config: PodSandboxConfig;
}

/** A container did not start; the others of the pod are tried all the same. */
export class StartFailed extends KubusError {
  /** Milliseconds until it makes sense to try again; undefined: the usual time. */
  readonly waitMs: number | undefined;

  constructor(reason: string, message: string, options: { waitMs?: number | undefined; cause?: unknown } = {}) {
    super(reason, message, { cause: options.cause });
    this.waitMs = options.waitMs;
  }
}

/**
 * Starts one container: back-off, image, create, start (kubelet behaviour 1.5, startContainer). On failure the reason is
 * left in `pass.waiting`, where the status finds it. Throws {@link StartFailed}.
 */
export async function startContainer(
  pass: Pass,
  pod: Pod,
  sandbox: SandboxInUse,
  start: ContainerStart,
): Promise<void> {
  const { container } = start;
  try {
    await awaitBackOff(pass, start);
    const id = start.created?.id ?? (await createContainer(pass, pod, sandbox, start));
    checkCancelled(pass);
    await attempt('RunContainerError', () =>
      pass.runtime.change('StartContainer', { containerId: id }, pass.runtime.cause),
    );
    pass.waiting.delete(container.name);
    recordEvent(pass, { type: 'Normal', reason: 'Started', message: 'Container started', container });
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    pass.waiting.set(container.name, { reason: error.code, message: error.message });
    if (error.code === 'CreateContainerError' || error.code === 'RunContainerError') {
      recordEvent(pass, { type: 'Warning', reason: 'Failed', message: `Error: ${error.message}`, container });
    }
    throw error;
  }
}

/** A container that ended a short while ago is not started again yet; one that may start waits longer the next time. */
async function awaitBackOff(pass: Pass, { container, previous }: ContainerStart): Promise<void> {
  if (previous?.state !== 'exited') return;
  const now = pass.deps.clock.now();
  const key = crashLoopKey(container);
  const endedAt = nanosToMs(previous.finishedAt);
  const entry = pass.backOffs.get(key);
  const remaining = backOffRemaining(entry, endedAt, now);
  if (remaining > 0 && entry !== undefined) {
    const { ref } = pass;
    const wait = formatWait(entry.waitMs);
    const of = `container=${container.name} pod=${ref.name}_${ref.namespace}(${ref.uid})`;
    const text = `Back-off restarting failed container ${container.name} in pod ${ref.name}_${ref.namespace}(${ref.uid})`;
    recordEvent(pass, { type: 'Warning', reason: 'BackOff', message: text, container });
    throw new StartFailed('CrashLoopBackOff', `back-off ${wait} restarting failed ${of}`, { waitMs: remaining });
  }
  pass.backOffs.set(key, lengthenBackOff(entry, endedAt, now));
  await pass.save();
}

async function createContainer(pass: Pass, pod: Pod, sandbox: SandboxInUse, start: ContainerStart): Promise<string> {
  const { container } = start;
  const imageId = await imageOf(pass, start);
  checkCancelled(pass);
  await pass.deps.files.makeLogFolder(podRefOf(pod), container.name);
  const config = containerConfig(pod, container, {
    attempt: start.attempt,
    imageId,
    memoryCapacity: pass.deps.memoryCapacity,
  });
  const { containerId } = await attempt('CreateContainerError', () =>
    pass.runtime.change(
      'CreateContainer',
      { podSandboxId: sandbox.id, config, sandboxConfig: sandbox.config },
      pass.runtime.cause,
    ),
  );
  recordEvent(pass, { type: 'Normal', reason: 'Created', message: 'Container created', container });
  return containerId ?? '';
}

async function imageOf(pass: Pass, { container }: ContainerStart): Promise<string> {
  try {
    return await ensureImage(pass, container);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new StartFailed(error.code, error.message, { waitMs: error.waitMs, cause: error });
  }
}

/** The runtime's refusal becomes a reason that users know. Everything else is not the container's fault. */
async function attempt<T>(reason: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof CommandFailed && error.code !== 'Unavailable') {
      throw new StartFailed(reason, error.message, { cause: error });
    }
    throw error;
  }
}
