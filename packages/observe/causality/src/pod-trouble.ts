import { textAt, valueAt } from './summary.ts';

/** Where something is wrong with a pod, according to its status. */
export interface PodTrouble {
  /** The API's reason, such as `CrashLoopBackOff`. */
  readonly reason: string;
  /** The container that it is about; missing for the pod as a whole. */
  readonly container?: string;
  /** A run of it has ended before, which has output of its own. */
  readonly ranBefore?: boolean;
}

/** A container waits for a reason that passes by itself. */
const usual = new Set(['', 'ContainerCreating', 'PodInitializing']);

/** The first thing that is wrong in a pod's status; undefined while nothing is. `status`: as the API shows it. */
export function troubleOf(status: unknown): PodTrouble | undefined {
  const containers = ['initContainerStatuses', 'containerStatuses'].flatMap((field) => {
    const list = valueAt(status, field);
    return Array.isArray(list) ? (list as readonly unknown[]) : [];
  });
  return ofPod(status) ?? first(containers, waiting) ?? first(containers, exited);
}

function ofPod(status: unknown): PodTrouble | undefined {
  const reason = textAt(status, 'reason') ?? '';
  return reason === '' ? undefined : { reason };
}

function waiting(container: unknown, name: string): PodTrouble | undefined {
  const reason = textAt(container, 'state.waiting.reason') ?? '';
  if (usual.has(reason)) return undefined;
  const last = valueAt(container, 'lastState.terminated');
  if (last === undefined) return { reason, container: name };
  return { reason, container: name, ranBefore: textAt(last, 'reason') !== 'StartError' };
}

function exited(container: unknown, name: string): PodTrouble | undefined {
  const end = valueAt(container, 'state.terminated');
  if (end === undefined || valueAt(end, 'exitCode') === 0) return undefined;
  return { reason: textAt(end, 'reason') ?? 'Error', container: name };
}

function first(
  containers: readonly unknown[],
  find: (container: unknown, name: string) => PodTrouble | undefined,
): PodTrouble | undefined {
  for (const container of containers) {
    const found = find(container, textAt(container, 'name') ?? '');
    if (found !== undefined) return found;
  }
  return undefined;
}
