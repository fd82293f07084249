import { allocationOf, withAllocation } from '@kubus/admission';
import { qosClass } from '@kubus/pod';
import { toError } from '@kubus/ports';
import type { ResizeSync } from '../resize/resize-state.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { RETRY_MS, TryAgain } from './errors.ts';
import { type PodSync, recordEvent } from './pod-sync.ts';
import { type Round, type Step, starts } from './step.ts';

/** What the step of the pod's cgroup uses. */
export type CgroupSync = PodSync & ResizeSync & Pick<WorkerDeps, 'cgroups' | 'metrics'>;

/** The pod's cgroup, which limits everything that is started in it (behaviour:pod-workers, step 7). */
export const cgroupStep: Step<CgroupSync, CgroupSync> = {
  run: async (sync, round) => {
    if (starts(round.actions)) await ensureCgroup(sync, round);
  },
  undo: ({ cgroups, metrics, ref }) => metrics.cgroup('destroy', () => cgroups.remove(ref.uid)),
};

/** An existing cgroup is resized in a separate order of steps. */
async function ensureCgroup(sync: CgroupSync, { pod, actions: { createSandbox } }: Round): Promise<void> {
  const { cgroups, metrics, resize } = sync;
  const { sizes } = resize;
  const size = (createSandbox === undefined ? sizes.cgroup : undefined) ?? allocationOf(pod);
  try {
    const operation = createSandbox === undefined ? 'update' : 'create';
    await metrics.cgroup(operation, () => cgroups.ensure(withAllocation(pod, size), qosClass(pod)));
    resize.sizes = { ...sizes, cgroup: size };
  } catch (error) {
    const message = `unable to ensure pod container exists: ${toError(error).message}`;
    recordEvent(sync, { type: 'Warning', reason: 'FailedCreatePodContainer', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}
