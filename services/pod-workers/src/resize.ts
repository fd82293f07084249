import { CommandFailed } from '@kubus/bus';
import { allocationOf } from '@kubus/admission';
import { containerResources, sandboxOverhead, sandboxResources } from '@kubus/container-config';
import { type Container, type Pod, type RuntimeContainer, criCommands } from '@kubus/contracts';
import { type PodActions, containersOf } from '@kubus/pod-lifecycle';
import { qosClass } from '@kubus/pod-status';
import { KubusError } from '@kubus/ports';
import { type ResizePlan, type ResizeStep, belowUsage, sameSize, sizeOf } from '@kubus/resize';
import { type Pass, RETRY_MS, TryAgain, checkCancelled } from './pass.ts';

/** A resize that can not be carried out now. */
class ResizeRefused extends KubusError {}

/** Writes down what a container is about to be made with. */
export async function recordSize(pass: Pass, pod: Pod, container: Container): Promise<void> {
  const { sizes } = pass.resize;
  const size = sizeOf(pod, container);
  if (sameSize(sizes.containers[container.name], size)) return;
  keepSize(pass, container.name, size);
  await pass.save();
}

/**
 * Gives a pod's cgroup and its containers the resources that the pod has been granted, step by step (kubelet behaviour
 * 1.18). Returns why that failed, to be thrown when everything else of the pass is done; what was done until then stays.
 */
export async function resizePod(pass: Pass, plan: ResizePlan, actions: PodActions): Promise<TryAgain | undefined> {
  const { steps, settled, smaller } = plan;
  const { resize } = pass;
  resize.error = undefined;
  if (steps.length + settled.length === 0) return undefined;
  const { clock, metrics } = pass.deps;
  const began = clock.now();
  let succeeded = false;
  const stopping = new Set(actions.stop.map(({ container }) => container.id));
  try {
    await checkUsage(pass, smaller);
    for (const step of steps) {
      checkCancelled(pass);
      if (step.kind === 'cgroup') await resizeCgroup(pass, step.pod, actions);
      else if (!stopping.has(step.run.id)) await resizeContainer(pass, step);
    }
    for (const name of settled) settle(pass, name);
    succeeded = true;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    resize.error = error.message;
    pass.publishStatus();
    return new TryAgain(error.message, RETRY_MS, { cause: error });
  } finally {
    if (steps.length > 0) metrics.resized(began, succeeded);
    await pass.save();
  }
  return undefined;
}

/** A container that does not run is made with its new size. */
function settle(pass: Pass, name: string): void {
  const { pod } = pass;
  if (pod === undefined) return;
  const container = containersOf(pod).find((one) => one.container.name === name)?.container;
  if (container !== undefined) keepSize(pass, name, sizeOf(pod, container));
}

/** The runtime is told first: it may refuse, or have something of its own to change. Older ones do not know the call. */
async function resizeCgroup(pass: Pass, pod: Pod, { sandbox }: PodActions): Promise<void> {
  try {
    await pass.runtime.change(
      'UpdatePodSandboxResources',
      { podSandboxId: sandbox?.id, overhead: sandboxOverhead(pod, {}), resources: sandboxResources(pod, {}) },
      [...pass.runtime.cause, ...pass.causes],
    );
  } catch (error) {
    if (!(error instanceof CommandFailed && error.code === 'Unimplemented')) throw error;
  }
  const { cgroups, metrics } = pass.deps;
  await metrics.cgroup('update', () => cgroups.ensure(pod, qosClass(pod)));
  pass.resize.sizes = { ...pass.resize.sizes, cgroup: allocationOf(pod) };
}

async function resizeContainer(pass: Pass, step: Extract<ResizeStep, { kind: 'container' }>): Promise<void> {
  const { pod, container, run } = step;
  const linux = containerResources(pod, container, { memoryCapacity: pass.deps.memoryCapacity });
  await pass.runtime.change('UpdateContainerResources', { containerId: run.id, linux }, [
    ...pass.runtime.cause,
    ...pass.causes,
  ]);
  keepSize(pass, container.name, container.resources ?? {});
}

function keepSize(pass: Pass, name: string, size: NonNullable<Container['resources']>): void {
  const { resize } = pass;
  resize.sizes = { ...resize.sizes, containers: { ...resize.sizes.containers, [name]: size } };
}

/** Less memory than is used would end the pod, or not be taken by the kernel. */
async function checkUsage(pass: Pass, smaller: ResizePlan['smaller']): Promise<void> {
  const reasons: string[] = [];
  for (const { run, bytes } of smaller) {
    const used = run === undefined ? await podUsage(pass) : await containerUsage(pass, run);
    if (used === undefined || used >= bytes) reasons.push(belowUsage(run?.name, bytes, used));
  }
  if (reasons.length === 0) return;
  const all = reasons.length === 1 ? reasons.join() : `[${reasons.join(', ')}]`;
  throw new ResizeRefused('below-usage', `cannot decrease memory limits: ${all}`);
}

function podUsage({ deps, ref, pod }: Pass): Promise<bigint | undefined> {
  return pod === undefined ? Promise.resolve(undefined) : deps.cgroups.memoryUsage(ref.uid, qosClass(pod));
}

async function containerUsage({ deps, ref, causes }: Pass, { id }: RuntimeContainer): Promise<bigint | undefined> {
  const params = { containerId: id };
  const { result } = await deps.bus.call(criCommands.ContainerStats, ref.uid, { params }, { causes });
  const used = result.response.stats?.memory?.usageBytes?.value;
  return used === undefined ? undefined : BigInt(used);
}

/** The kernel or the runtime does not take it, as opposed to a runtime that is not there. */
function isRefusal(error: unknown): error is KubusError {
  if (error instanceof CommandFailed) return error.code !== 'Unavailable' && error.code !== 'dropped';
  return error instanceof ResizeRefused || (error instanceof KubusError && error.code === 'cgroup');
}
