import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import type { PodActions } from './actions.ts';
import { findContainer } from './container-kind.ts';
import { type DeadContainers, defaultDeadContainers, isOldEnough } from './dead-containers.ts';
import { mayRun } from './runtime-view.ts';

const byDefault: DeadContainers = { policy: defaultDeadContainers, now: 0, surplus: new Set(), keeps: 'newest' };

/**
 * Ended containers beyond the limits, by default all but the newest of each name; containers that were created and never started, if
 * there is a newer one; and ended sandboxes, except the newest, that contain no kept container (behaviour:garbage-collection,
 * container GC).
 */
export function leftovers(
  runtime: RuntimePod | undefined,
  sandbox: RuntimeSandbox | undefined,
  dead: DeadContainers = byDefault,
): PodActions['remove'] {
  if (runtime === undefined) return { containers: [], sandboxes: [] };
  /** How many of each name have been seen, and how many that have ended and are old enough. */
  const seen = new Map<string, number>();
  const ended = new Map<string, number>();
  const containers: RuntimeContainer[] = [];
  const holding = new Set<string>();
  for (const container of runtime.containers) {
    const counts = { newer: seen.get(container.name) ?? 0, newerEnded: ended.get(container.name) ?? 0 };
    if (isKept(container, counts, dead)) holding.add(container.sandboxId);
    else containers.push(container);
    seen.set(container.name, counts.newer + 1);
    if (container.state === 'exited' && isOldEnough(container, dead.policy, dead.now)) {
      ended.set(container.name, counts.newerEnded + 1);
    }
  }
  const sandboxes = runtime.sandboxes.filter(
    ({ id, ready }, index) =>
      (index > 0 || dead.keeps === 'nothing') && id !== sandbox?.id && !ready && !holding.has(id),
  );
  return { containers, sandboxes };
}

function isKept(
  container: RuntimeContainer,
  { newer, newerEnded }: { readonly newer: number; readonly newerEnded: number },
  { policy, now, surplus, keeps }: DeadContainers,
): boolean {
  if (mayRun(container) || !isOldEnough(container, policy, now)) return true;
  if (keeps === 'nothing') return false;
  if (container.state === 'created') return newer === 0;
  if (keeps === 'newest' && newer === 0) return true;
  return !surplus.has(container.id) && (policy.perContainer < 0 || newerEnded < policy.perContainer);
}

/** Containers of the pod that are not (or no longer) in its spec. */
export function unknownContainers(pod: Pick<Pod, 'spec'>, runtime: RuntimePod | undefined): RuntimeContainer[] {
  return (runtime?.containers ?? []).filter(({ name }) => findContainer(pod, name) === undefined);
}
