import { CommandFailed } from '@kubus/bus';
import { cpuSharing, isWithoutQuota } from '@kubus/exclusive';
import type { Pod, RuntimeContainer, RuntimePod } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import { TryAgain } from '../sync/errors.ts';
import { checkCancelled } from '../sync/pod-sync.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { type DeviceSync, ownThings } from './container-devices.ts';

/** Whether the container, or without a name the pod, runs without a CPU quota because of CPUs that containers have for themselves. */
export function withoutQuota({ exclusive }: Pick<WorkerDeps, 'exclusive'>, pod: Pod, container?: string): boolean {
  if (exclusive?.cpus !== true || !exclusive.withoutQuota) return false;
  const { podLevel } = exclusive;
  return container === undefined ? isWithoutQuota(pod, podLevel) : cpuSharing(pod, podLevel, container) === 'nobody';
}

/**
 * Sets the CPUs of running containers that have others: the shared ones have changed, or this process has not started the container.
 * Returns the error, to be thrown after the rest of the sync is done.
 */
export async function updateCpuSets(
  sync: DeviceSync,
  pod: Pod,
  runtime: RuntimePod | undefined,
): Promise<TryAgain | undefined> {
  const { cpuSets, exclusive } = sync;
  if (exclusive?.cpus !== true || runtime === undefined) return undefined;
  const running = runtime.containers.filter(({ state }) => state === 'running');
  try {
    for (const run of running) {
      const cpus = await cpusOf(sync, pod, run);
      if (cpus === undefined || cpus === cpuSets.get(runKey(run))) continue;
      checkCancelled(sync);
      const causes = [...sync.runtime.cause, ...sync.causes];
      await sync.runtime.change(
        'UpdateContainerResources',
        { containerId: run.id, linux: { cpusetCpus: cpus } },
        causes,
      );
      cpuSets.set(runKey(run), cpus);
    }
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    sync.logger.warn({ err: toError(error) }, 'cannot set the CPUs of a running container');
    return new TryAgain(error.message, exclusive.reconcileMs, { cause: error });
  }
  const kept = new Set(running.map(runKey));
  for (const key of cpuSets.keys()) if (!kept.has(key)) cpuSets.delete(key);
  return undefined;
}

/** Undefined: nothing is known that they should be. */
async function cpusOf(sync: DeviceSync, pod: Pod, run: RuntimeContainer): Promise<string | undefined> {
  if (cpuSharing(pod, sync.exclusive?.podLevel, run.name) === 'node') return sync.cpuPool();
  // They never change.
  return sync.cpuSets.get(runKey(run)) ?? (await ownThings(sync, pod, run.name)).cpuset?.cpus;
}

/** A run of a container. */
export function runKey({ name, attempt }: Pick<RuntimeContainer, 'name' | 'attempt'>): string {
  return `${name} ${attempt}`;
}
