import { allocationOf, withAllocation } from '@kubus/admission';
import type { Pod, RuntimePod } from '@kubus/contracts';
import {
  type PodActions,
  containersOf,
  mayRun,
  networkNotReady,
  podActions,
  unsupportedFields,
} from '@kubus/pod-lifecycle';
import { isTerminal, qosClass } from '@kubus/pod-status';
import { toError } from '@kubus/ports';
import { resizePlan } from '@kubus/resize';
import { StartFailed, startContainer } from './container-start.ts';
import { removeContainers, removeSandboxes } from './dead-containers.ts';
import { ensureImageVolumes } from './image-volumes.ts';
import { checkObjects, tellMissingPullSecrets } from './objects.ts';
import { NodeNotReady, type Pass, RETRY_MS, TRANSIENT_MS, TryAgain, checkCancelled, recordEvent } from './pass.ts';
import { resizePod } from './resize.ts';
import { type SandboxInUse, ensureSandbox } from './sandbox.ts';
import { asStops, stopContainers, stopSandboxes } from './stop.ts';
import { checkVolumes } from './volumes.ts';

/**
 * Makes a pod what its spec says (kubelet behaviour 1.3, SyncPod): decides and acts until nothing is left to do. Returns
 * true when the pod has run its course. Throws {@link TryAgain} when something is still missing.
 */
export async function syncPass(pass: Pass, pod: Pod): Promise<boolean> {
  checkRuntime(pass);
  await checkSupported(pass, pod);
  let failure: TryAgain | undefined;
  for (let started = true; ;) {
    const runtime = await pass.fresh();
    if (isTerminal(pass.publishStatus())) return true;
    const plan = resizePlan(pod, pass.resize.sizes, runtime);
    const actions = podActions(pod, runtime, {
      probes: pass.probes(),
      resizeRestarts: plan.restarts,
      logIndexes: await logIndexes(pass, pod, runtime),
      restartAllContainers: pass.deps.restartAllContainers,
    });
    if (failure === undefined && maySize(actions)) failure = await resizePod(pass, plan, actions);
    if (isIdle(actions, runtime)) {
      if (failure !== undefined) throw failure;
      if (plan.inProgress) await showResized(pass);
      return false;
    }
    if (!started && actions.start.length === 0) throw new TryAgain('what was ended is still there', TRANSIENT_MS);
    if (actions.restartAll) await beginAnew(pass, actions);
    else if (replaces(pod, actions)) await pass.withStatusHeld(() => carryOut(pass, pod, runtime, actions));
    else await carryOut(pass, pod, runtime, actions);
    started = actions.restartAll || actions.start.length > 0;
  }
}

/**
 * Containers end here to run again, in a pod that does not restart what ended well. One that ends well because it was told to
 * would look as if the pod had run its course, until its next run is there.
 */
function replaces({ spec }: Pod, { createSandbox, killPod, start, stop }: PodActions): boolean {
  const ends = killPod || stop.length > 0;
  return ends && (createSandbox !== undefined || start.length > 0) && spec.restartPolicy !== 'Always';
}

/** The pod has a sandbox that stays, and so containers that can be given other resources. */
function maySize({ killPod, restartAll, sandbox }: PodActions): boolean {
  return sandbox !== undefined && !killPod && !restartAll;
}

/** Shows the pod as it is after its resources have changed. */
async function showResized(pass: Pass): Promise<void> {
  await pass.fresh();
  pass.publishStatus();
}

/** The pod is as it should be. */
function isIdle(actions: PodActions, runtime: RuntimePod | undefined): boolean {
  const { createSandbox, killPod, remove, restartAll, start, stop } = actions;
  if (restartAll || createSandbox !== undefined || start.length + stop.length > 0) return false;
  if (remove.containers.length + remove.sandboxes.length > 0) return false;
  const alive = runtime?.containers.some(mayRun) === true || runtime?.sandboxes.some(({ ready }) => ready) === true;
  return !(killPod && alive);
}

/** The numbers of containers' logs; read only when the runtime does not tell the number of every container's last run. */
async function logIndexes(
  pass: Pass,
  pod: Pod,
  runtime: RuntimePod | undefined,
): Promise<ReadonlyMap<string, number> | undefined> {
  const known = new Set(runtime?.containers.map(({ name }) => name));
  if (containersOf(pod).every(({ container }) => known.has(container.name))) return undefined;
  return pass.deps.files.logIndexes(pass.ref);
}

async function carryOut(pass: Pass, pod: Pod, runtime: RuntimePod | undefined, actions: PodActions): Promise<void> {
  const starts = actions.createSandbox !== undefined || actions.start.length > 0;
  if (actions.createSandbox !== undefined) checkNetwork(pass, pod);
  if (starts) {
    checkVolumes(pass, pod);
    checkObjects(pass, pod);
  }
  checkCancelled(pass);
  if (actions.killPod) {
    await stopContainers(pass, asStops(runtime?.containers), { ordered: true });
    await stopSandboxes(pass, runtime?.sandboxes ?? []);
  } else {
    await stopContainers(pass, actions.stop, { ordered: false });
  }
  await removeContainers(pass, actions.remove.containers, { logs: false });
  await removeSandboxes(pass, actions.remove.sandboxes);
  if (starts) {
    await ensureCgroup(pass, pod, actions);
    await makeFolder(pass);
  }
  const sandbox = await ensureSandbox(pass, pod, actions);
  if (actions.start.length > 0) tellMissingPullSecrets(pass, pod);
  if (sandbox !== undefined) await startContainers(pass, pod, sandbox, actions);
}

/** The pod's cgroup bounds all that is started in it (kubelet behaviour 1.3, step 7). One that is there is resized in order. */
async function ensureCgroup(pass: Pass, pod: Pod, { createSandbox }: PodActions): Promise<void> {
  const { sizes } = pass.resize;
  const size = (createSandbox === undefined ? sizes.cgroup : undefined) ?? allocationOf(pod);
  try {
    const { cgroups, metrics } = pass.deps;
    const operation = createSandbox === undefined ? 'update' : 'create';
    await metrics.cgroup(operation, () => cgroups.ensure(withAllocation(pod, size), qosClass(pod)));
    pass.resize.sizes = { ...sizes, cgroup: size };
  } catch (error) {
    const message = `unable to ensure pod container exists: ${toError(error).message}`;
    recordEvent(pass, { type: 'Warning', reason: 'FailedCreatePodContainer', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

/** The pod's folder holds all that is made for it (kubelet behaviour 1.3, step 9). */
async function makeFolder(pass: Pass): Promise<void> {
  try {
    await pass.deps.files.makeFolder(pass.ref);
  } catch (error) {
    const message = `error making pod data directories: ${toError(error).message}`;
    recordEvent(pass, { type: 'Warning', reason: 'Failed', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

/**
 * Takes every container away, so that the pod begins with its first one once more (KEP-5532). The status that tells what
 * has ended is on disk before the containers go that it was made of.
 */
async function beginAnew(pass: Pass, actions: PodActions): Promise<void> {
  await pass.save();
  checkCancelled(pass);
  await stopContainers(pass, actions.stop, { ordered: false, graceOverrideSeconds: 0 });
  await removeContainers(pass, actions.remove.containers, { logs: true });
}

/** What this version does not do is refused as a whole; the user learns which fields are the reason. */
async function checkSupported(pass: Pass, pod: Pod): Promise<void> {
  const fields = unsupportedFields(pod);
  if (fields.length === 0) return;
  const message = `this version of Kubus does not support: ${fields.join(', ')}`;
  for (const { container } of containersOf(pod)) {
    const { name } = container;
    if (pass.waiting.has(name)) continue;
    pass.waiting.set(name, { reason: 'Unsupported', message });
    recordEvent(pass, { type: 'Warning', reason: 'Unsupported', message, container });
  }
  await pass.fresh();
  pass.publishStatus();
  throw new TryAgain(message, RETRY_MS);
}

function checkRuntime(pass: Pass): void {
  const condition = pass.deps.runtime();
  if (condition?.ready === true) return;
  pass.publishStatus();
  throw new NodeNotReady(
    `the container runtime is not ready: ${condition?.message ?? 'not heard of yet'}`,
    TRANSIENT_MS,
  );
}

/** A pod without the host's network needs the network before its sandbox (kubelet behaviour 1.3, step 5). */
function checkNetwork(pass: Pass, pod: Pod): void {
  if (pod.spec.hostNetwork === true) return;
  const runtime = pass.deps.runtime();
  const network = pass.deps.network();
  const own = runtime?.network === 'cni-bridge';
  const condition = own
    ? network
    : runtime && { ready: runtime.networkReady, reason: runtime.networkReason, message: runtime.networkMessage };
  if (condition?.ready === true) return;
  const message = networkNotReady(condition);
  recordEvent(pass, { type: 'Warning', reason: 'NetworkNotReady', message });
  throw new NodeNotReady(message, TRANSIENT_MS);
}

/**
 * Containers are started one after another. One that can not start does not keep the others from it, unless it is an init
 * container whose work they need.
 */
async function startContainers(pass: Pass, pod: Pod, sandbox: SandboxInUse, { start }: PodActions): Promise<void> {
  if (start.length === 0) return;
  let failed: StartFailed | undefined;
  const ready = { ...sandbox, images: await ensureImageVolumes(pass, pod, sandbox.config) };
  for (const one of start) {
    checkCancelled(pass);
    try {
      await startContainer(pass, pod, ready, one);
    } catch (error) {
      if (!(error instanceof StartFailed)) throw error;
      if (error.code !== 'CrashLoopBackOff') pass.deps.metrics.containerFailed(one.kind, error.code);
      if (failed?.waitMs === undefined || (error.waitMs ?? RETRY_MS) < failed.waitMs) failed = error;
      if (one.kind === 'init') break;
    }
  }
  if (failed === undefined) return;
  await pass.fresh();
  pass.publishStatus();
  throw new TryAgain(failed.message, failed.waitMs ?? RETRY_MS, { cause: failed });
}
