import { resizePlan } from '@kubus/admission';
import type { Pod, RuntimePod } from '@kubus/contracts';
import { type PodActions, type ProbeResults, containersOf, mayRun, podActions } from '@kubus/pod-lifecycle';
import { isTerminal } from '@kubus/pod-status';
import { removeContainers } from '../containers/container-removal.ts';
import type { StartSync } from '../containers/container-start.ts';
import { newestOf } from '../containers/past-runs.ts';
import { stopContainers } from '../containers/container-stop.ts';
import { updateCpuSets } from '../devices/cpu-sets.ts';
import { type LastStatus, checkLostDevices } from '../devices/lost-devices.ts';
import { searchImages } from '../images/images.ts';
import { type ResizePodSync, resizePod } from '../resize/resize.ts';
import type { SandboxSync } from '../sandbox/sandbox.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { TRANSIENT_MS, TryAgain } from './errors.ts';
import type { CgroupSync } from './pod-cgroup.ts';
import { type StatusSync, checkCancelled } from './pod-sync.ts';
import { type NodeSync, checkRuntime, checkSupported } from './prerequisites.ts';
import type { Round } from './step.ts';
import { checks, steps } from './steps.ts';

/** What {@link syncPod} and its steps use. */
export type SyncPodSync = StartSync &
  SandboxSync &
  CgroupSync &
  NodeSync &
  ResizePodSync &
  StatusSync &
  LastStatus &
  Pick<WorkerDeps, 'deadContainers' | 'pastRuns' | 'restartAllContainers'> & {
    /** The newest results of the pod's probes. */
    readonly probes: () => ProbeResults;
  };

/**
 * Brings a pod into the state of its spec (behaviour:pod-workers, SyncPod): decides and acts until nothing is left to do. Returns
 * true when the pod has finished. Throws {@link TryAgain} when something is still missing.
 */
export async function syncPod(sync: SyncPodSync, pod: Pod): Promise<boolean> {
  checkRuntime(sync);
  await checkSupported(sync, pod);
  let failure: TryAgain | undefined;
  for (let started = true; ;) {
    const runtime = await sync.beforeStart();
    await sync.withStatusHeld(() => checkLostDevices(sync, pod, runtime));
    if (isTerminal(sync.publishStatus())) return true;
    const plan = resizePlan(pod, sync.resize.sizes, runtime);
    const actions = podActions(pod, runtime, {
      probes: sync.probes(),
      resizeRestarts: plan.restarts,
      logIndexes: await logIndexes(sync, pod, runtime),
      restartAllContainers: sync.restartAllContainers,
      deadContainers: sync.deadContainers('newest'),
    });
    if (failure === undefined && maySize(actions)) failure = await resizePod(sync, plan, actions);
    failure ??= await updateCpuSets(sync, pod, runtime);
    if (isIdle(actions, runtime)) {
      if (failure !== undefined) throw failure;
      if (plan.inProgress) await showResized(sync);
      return false;
    }
    if (!started && actions.start.length === 0) {
      throw new TryAgain('the runtime still lists stopped containers as running', TRANSIENT_MS);
    }
    const search = searchImages(
      sync,
      pod,
      actions.start.flatMap(({ container, created }) => (created === undefined ? [container] : [])),
    );
    const round: Round = { pod, runtime, actions, search, sandbox: undefined };
    if (actions.restartAll) await restartAll(sync, actions);
    else if (replaces(pod, actions)) await sync.withStatusHeld(() => runSteps(sync, round));
    else await runSteps(sync, round);
    started = actions.restartAll || actions.start.length > 0;
  }
}

async function runSteps(sync: SyncPodSync, round: Round): Promise<void> {
  for (const check of checks) check(sync, round);
  checkCancelled(sync);
  for (const step of steps) await step.run(sync, round);
}

/**
 * Containers are stopped here to run again, in a pod that does not restart successful ones. One that exits with 0 because it was
 * stopped would make the pod look finished, until its next run exists.
 */
function replaces({ spec }: Pod, { createSandbox, killPod, start, stop }: PodActions): boolean {
  const ends = killPod || stop.length > 0;
  return ends && (createSandbox !== undefined || start.length > 0) && spec.restartPolicy !== 'Always';
}

/** The pod has a sandbox that stays, and therefore containers whose resources can be changed. */
function maySize({ killPod, restartAll, sandbox }: PodActions): boolean {
  return sandbox !== undefined && !killPod && !restartAll;
}

/** Publishes the pod's state after its resources have changed. */
async function showResized(sync: StatusSync): Promise<void> {
  await sync.fresh();
  sync.publishStatus();
}

/** The pod is in its desired state. */
function isIdle(actions: PodActions, runtime: RuntimePod | undefined): boolean {
  const { createSandbox, killPod, remove, restartAll, start, stop } = actions;
  if (restartAll || createSandbox !== undefined || start.length + stop.length > 0) return false;
  if (remove.containers.length + remove.sandboxes.length > 0) return false;
  const alive = runtime?.containers.some(mayRun) === true || runtime?.sandboxes.some(({ ready }) => ready) === true;
  return !(killPod && alive);
}

/** The numbers of containers' logs, and of their runs before a static pod was removed; read only when the runtime does not list every container's last run. */
async function logIndexes(
  { files, pastRuns, ref }: SyncPodSync,
  pod: Pod,
  runtime: RuntimePod | undefined,
): Promise<ReadonlyMap<string, number> | undefined> {
  const known = new Set(runtime?.containers.map(({ name }) => name));
  if (containersOf(pod).every(({ container }) => known.has(container.name))) return undefined;
  const inLogs = [...(await files.logIndexes(ref))].map(([name, attempt]) => ({ name, attempt }));
  return newestOf(inLogs, pastRuns.of(ref));
}

/**
 * Removes every container, so that the pod starts again with its first one (KEP-5532). The status that shows the ended containers
 * is on disk before the containers from which it was computed are removed.
 */
async function restartAll(sync: SyncPodSync, actions: PodActions): Promise<void> {
  await sync.save();
  checkCancelled(sync);
  await stopContainers(sync, actions.stop, { ordered: false, graceOverrideSeconds: 0 });
  await removeContainers(sync, actions.remove.containers, { logs: true });
}
