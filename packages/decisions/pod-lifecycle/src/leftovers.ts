import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import type { PodActions } from './actions.ts';
import { findContainer } from './container-kind.ts';
import { mayRun } from './runtime-view.ts';

/**
 * Ended containers except the newest of each name; containers that were created and never started, if there is a
 * newer one; and ended sandboxes, except the newest, that contain no kept container (behaviour:garbage-collection,
 * container GC).
 */
export function leftovers(runtime: RuntimePod | undefined, sandbox: RuntimeSandbox | undefined): PodActions['remove'] {
  if (runtime === undefined) return { containers: [], sandboxes: [] };
  const named = new Set<string>();
  const ended = new Set<string>();
  const containers: RuntimeContainer[] = [];
  const holding = new Set<string>();
  for (const container of runtime.containers) {
    const { name, state } = container;
    const isKept = mayRun(container) || !(state === 'created' ? named : ended).has(name);
    if (isKept) holding.add(container.sandboxId);
    else containers.push(container);
    named.add(name);
    if (state === 'exited') ended.add(name);
  }
  const sandboxes = runtime.sandboxes.filter(
    (one, index) => index > 0 && one.id !== sandbox?.id && !one.ready && !holding.has(one.id),
  );
  return { containers, sandboxes };
}

/** Containers of the pod that are not (or no longer) in its spec. */
export function unknownContainers(pod: Pick<Pod, 'spec'>, runtime: RuntimePod | undefined): RuntimeContainer[] {
  return (runtime?.containers ?? []).filter(({ name }) => findContainer(pod, name) === undefined);
}
