import type { Pod } from '@kubus/contracts';
import type { PodActions } from '@kubus/pod-lifecycle';
import { ensureImageVolumes } from '../images/image-volumes.ts';
import type { ImageSource } from '../images/images.ts';
import { reportMissingPullSecrets } from '../objects/objects.ts';
import type { SandboxInUse } from '../sandbox/sandbox-in-use.ts';
import { recordSizes } from '../resize/record-size.ts';
import { RETRY_MS, TRANSIENT_MS, TryAgain } from '../sync/errors.ts';
import { checkCancelled } from '../sync/pod-sync.ts';
import type { Step } from '../sync/step.ts';
import { type RemovalSync, removeContainers } from './container-removal.ts';
import { type StartSync, startContainer } from './container-start.ts';
import { StartFailed } from './start-failed.ts';

/** The step for the pod's containers in its sandbox. */
export const containersStep: Step<StartSync, RemovalSync> = {
  run: async (sync, { pod, actions, sandbox, search }) => {
    if (actions.start.length > 0) reportMissingPullSecrets(sync, pod);
    if (sandbox !== undefined) await startContainers(sync, pod, { ...sandbox, search }, actions);
  },
  // The logs of a pod that is removed entirely are removed with all its other files.
  undo: async (sync, { containers, forget, logs }) => {
    await removeContainers(sync, containers, { logs: forget || logs });
    if (logs) await sync.files.removeLogs(sync.ref);
  },
};

/**
 * Starts containers one after another. One that cannot start does not prevent the others from starting, unless it is an init
 * container on which they depend.
 */
async function startContainers(
  sync: StartSync,
  pod: Pod,
  sandbox: SandboxInUse & ImageSource,
  { start }: PodActions,
): Promise<void> {
  if (start.length === 0) return;
  let failed: StartFailed | undefined;
  const refused = new Set<string>();
  const ready = { ...sandbox, images: await ensureImageVolumes(sync, pod, sandbox) };
  await recordSizes(sync, pod, start);
  for (const one of start) {
    checkCancelled(sync);
    try {
      await startContainer(sync, pod, ready, one);
    } catch (error) {
      if (!(error instanceof StartFailed)) throw error;
      if (error.code !== 'CrashLoopBackOff') sync.metrics.containerFailed(one.kind, error.code);
      if (error.code === 'RunContainerError') refused.add(one.container.name);
      if (failed?.waitMs === undefined || (error.waitMs ?? RETRY_MS) < failed.waitMs) failed = error;
      if (one.kind === 'init') break;
    }
  }
  if (failed === undefined) return;
  const runtime = await sync.fresh();
  sync.publishStatus();
  // As every end of a container it is seen to soon; the back-off delays what follows.
  const hasEnded = runtime?.containers.some(({ name, state }) => refused.has(name) && state === 'exited') ?? false;
  throw new TryAgain(failed.message, hasEnded ? TRANSIENT_MS : (failed.waitMs ?? RETRY_MS), { cause: failed });
}
