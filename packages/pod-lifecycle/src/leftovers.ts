import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import type { PodActions } from './actions.ts';
import { findContainer } from './container-kind.ts';
import { mayRun } from './runtime-view.ts';

/** Dead containers but the newest of each name, and dead sandboxes but the newest that hold none of the kept ones. */
export function leftovers(runtime: RuntimePod | undefined, sandbox: RuntimeSandbox | undefined): PodActions['remove'] {
  if (runtime === undefined) return { containers: [], sandboxes: [] };
  const kept = new Set<string>();
  const containers: RuntimeContainer[] = [];
  const holding = new Set<string>();
  for (const container of runtime.containers) {
    if (mayRun(container) || container.state === 'created' || !kept.has(container.name)) {
      holding.add(container.sandboxId);
      if (container.state === 'exited') kept.add(container.name);
    } else {
      containers.push(container);
    }
  }
  const sandboxes = runtime.sandboxes.filter(
    (one, index) => index > 0 && one.id !== sandbox?.id && !one.ready && !holding.has(one.id),
  );
  return { containers, sandboxes };
}

/** Containers of the pod that its spec does not name (any more). */
export function strangers(pod: Pick<Pod, 'spec'>, runtime: RuntimePod | undefined): RuntimeContainer[] {
  return (runtime?.containers ?? []).filter(({ name }) => findContainer(pod, name) === undefined);
}
