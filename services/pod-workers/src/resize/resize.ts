import { type ResizePlan, type ResizeStep, allocationOf, belowUsage, sizeOf } from '@kubus/admission';
import { CommandFailed } from '@kubus/bus';
import { containerResources, sandboxOverhead, sandboxResources } from '@kubus/container-config';
import { type Pod, type RuntimeContainer, criCommands } from '@kubus/contracts';
import { type PodActions, containersOf } from '@kubus/pod-lifecycle';
import { qosClass } from '@kubus/pod';
import { KubusError } from '@kubus/ports';
import { withoutQuota } from '../devices/cpu-sets.ts';
import { RETRY_MS, TryAgain } from '../sync/errors.ts';
import { type StatusSync, checkCancelled } from '../sync/pod-sync.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { type RecordSizeSync, keepSize } from './record-size.ts';

/** What resizing a pod uses. */
export type ResizePodSync = RecordSizeSync &
  Pick<StatusSync, 'publishStatus'> &
  Pick<WorkerDeps, 'bus' | 'cgroups' | 'clock' | 'enforcement' | 'exclusive' | 'kernel' | 'memoryCapacity' | 'metrics'>;

/** Thrown when a resize cannot be carried out at this time. */
class ResizeRefused extends KubusError {}

/**
 * Sets a pod's cgroup and its containers to the resources that the pod has been granted, step by step
 * (behaviour:resize). Returns the error, to be thrown after the rest of the sync is done; completed steps are kept.
 */
export async function resizePod(
  sync: ResizePodSync,
  plan: ResizePlan,
  actions: PodActions,
): Promise<TryAgain | undefined> {
  const { steps, settled, smaller } = plan;
  const { resize } = sync;
  resize.error = undefined;
  if (steps.length + settled.length === 0) return undefined;
  const { clock, metrics } = sync;
  const began = clock.now();
  let succeeded = false;
  const stopping = new Set(actions.stop.map(({ container }) => container.id));
  try {
    await checkUsage(sync, smaller);
    for (const step of steps) {
      checkCancelled(sync);
      if (step.kind === 'cgroup') await resizeCgroup(sync, step.pod, actions);
      else if (!stopping.has(step.run.id)) await resizeContainer(sync, step);
    }
    for (const name of settled) settle(sync, name);
    succeeded = true;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    resize.error = error.message;
    sync.publishStatus();
    return new TryAgain(error.message, RETRY_MS, { cause: error });
  } finally {
    if (steps.length > 0) metrics.resized(began, succeeded);
    await sync.save();
  }
  return undefined;
}

/** A container that does not run is created with its new size. */
function settle(sync: ResizePodSync, name: string): void {
  const { pod } = sync;
  if (pod === undefined) return;
  const container = containersOf(pod).find((one) => one.container.name === name)?.container;
  if (container !== undefined) keepSize(sync, name, sizeOf(pod, container));
}

/** The runtime comes first: it may refuse, or need changes of its own. Older runtimes do not support the call. */
async function resizeCgroup(sync: ResizePodSync, pod: Pod, { sandbox }: PodActions): Promise<void> {
  const settings = { ...sync.enforcement, exclusiveCpus: withoutQuota(sync, pod) };
  try {
    await sync.runtime.change(
      'UpdatePodSandboxResources',
      {
        podSandboxId: sandbox?.id,
        overhead: sandboxOverhead(pod, settings),
        resources: sandboxResources(pod, settings),
      },
      [...sync.runtime.cause, ...sync.causes],
    );
  } catch (error) {
    if (!(error instanceof CommandFailed && error.code === 'Unimplemented')) throw error;
  }
  const { cgroups, metrics } = sync;
  await metrics.cgroup('update', () => cgroups.ensure(pod, qosClass(pod)));
  sync.resize.sizes = { ...sync.resize.sizes, cgroup: allocationOf(pod) };
}

async function resizeContainer(sync: ResizePodSync, step: Extract<ResizeStep, { kind: 'container' }>): Promise<void> {
  const { pod, container, run } = step;
  const { memoryCapacity, kernel, enforcement } = sync;
  const exclusiveCpus = withoutQuota(sync, pod, container.name);
  const linux = containerResources(pod, container, { memoryCapacity, ...kernel, ...enforcement, exclusiveCpus });
  await sync.runtime.change('UpdateContainerResources', { containerId: run.id, linux }, [
    ...sync.runtime.cause,
    ...sync.causes,
  ]);
  keepSize(sync, container.name, container.resources ?? {});
}

/** A limit below the current usage would end the pod, or be refused by the kernel. */
async function checkUsage(sync: ResizePodSync, smaller: ResizePlan['smaller']): Promise<void> {
  const reasons: string[] = [];
  for (const { run, bytes } of smaller) {
    const used = run === undefined ? await podUsage(sync) : await containerUsage(sync, run);
    if (used === undefined || used >= bytes) reasons.push(belowUsage(run?.name, bytes, used));
  }
  if (reasons.length === 0) return;
  const all = reasons.length === 1 ? reasons.join() : `[${reasons.join(', ')}]`;
  throw new ResizeRefused('below-usage', `cannot decrease memory limits: ${all}`);
}

function podUsage({ cgroups, ref, pod }: ResizePodSync): Promise<bigint | undefined> {
  return pod === undefined ? Promise.resolve(undefined) : cgroups.memoryUsage(ref.uid, qosClass(pod));
}

async function containerUsage(
  { bus, ref, causes }: ResizePodSync,
  { id }: RuntimeContainer,
): Promise<bigint | undefined> {
  const params = { containerId: id };
  const { result } = await bus.call(criCommands.ContainerStats, ref.uid, { params }, { causes });
  const used = result.response.stats?.memory?.usageBytes?.value;
  return used === undefined ? undefined : BigInt(used);
}

/** The kernel or the runtime refuses it, in contrast to a runtime that cannot be reached. */
function isRefusal(error: unknown): error is KubusError {
  if (error instanceof CommandFailed) return error.code !== 'Unavailable' && error.code !== 'dropped';
  return error instanceof ResizeRefused || (error instanceof KubusError && error.code === 'cgroup');
}
