import type { Container, Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import { ANNOTATION } from './annotations.ts';
import { containerHash } from './container-hash.ts';
import { restartDecision } from './restart.ts';
import { mayRun, newestContainer } from './runtime-view.ts';
import { sandboxDecision } from './sandbox-decision.ts';

export interface ContainerStop {
  readonly container: RuntimeContainer;
  /** Text of the event `Killing`. */
  readonly message: string;
}

export interface ContainerStart {
  readonly container: Container;
  readonly attempt: number;
  /** A container that was made for this attempt and not started yet. */
  readonly created: RuntimeContainer | undefined;
  /** The run before, for the back-off. */
  readonly previous: RuntimeContainer | undefined;
}

/** What a pod needs so that it becomes what its spec says; in this order. */
export interface PodActions {
  /** Stop every container, then every sandbox. */
  readonly killPod: boolean;
  readonly stop: readonly ContainerStop[];
  /** Sandboxes and containers of which nobody needs anything any more. */
  readonly remove: { readonly containers: readonly RuntimeContainer[]; readonly sandboxes: readonly RuntimeSandbox[] };
  /** Make a new sandbox under this attempt number. */
  readonly createSandbox: { readonly attempt: number; readonly replaces: boolean } | undefined;
  /** The sandbox that is there and serves. */
  readonly sandbox: RuntimeSandbox | undefined;
  readonly start: readonly ContainerStart[];
}

/** Decides by the pod's spec and by what the runtime has of it (kubelet behaviour 1.5, computePodActions). */
export function podActions(pod: Pod, runtime: RuntimePod | undefined): PodActions {
  const sandbox = sandboxDecision(pod, runtime);
  return sandbox.kind === 'create'
    ? withNewSandbox(pod, runtime, sandbox.attempt)
    : withinSandbox(pod, runtime, sandbox.sandbox);
}

function withNewSandbox(pod: Pod, runtime: RuntimePod | undefined, attempt: number): PodActions {
  const everRan = (runtime?.containers.length ?? 0) > 0;
  const actions = {
    killPod: (runtime?.sandboxes.length ?? 0) > 0,
    stop: [],
    remove: { containers: [], sandboxes: [] },
    sandbox: undefined,
  };
  const start = pod.spec.containers.flatMap((container): ContainerStart[] => {
    const previous = newestContainer(runtime, container.name);
    // What is still running dies with its sandbox and starts again in the new one.
    const decision =
      previous !== undefined && mayRun(previous)
        ? restartDecision(pod, container, { ...previous, state: 'exited', exitCode: 137 })
        : restartDecision(pod, container, previous);
    if (!decision.restart) return [];
    return [{ container, attempt: nextAttempt(previous), created: undefined, previous }];
  });
  const neverAgain = pod.spec.restartPolicy === 'Never' && attempt !== 0 && everRan;
  if (neverAgain || (start.length === 0 && everRan)) return { ...actions, createSandbox: undefined, start: [] };
  return { ...actions, createSandbox: { attempt, replaces: attempt > 0 }, start };
}

function withinSandbox(pod: Pod, runtime: RuntimePod | undefined, sandbox: RuntimeSandbox): PodActions {
  const stop: ContainerStop[] = [];
  const start: ContainerStart[] = [];
  let keep = 0;
  for (const container of pod.spec.containers) {
    const newest = newestContainer(runtime, container.name);
    const changed = newest !== undefined && newest.annotations[ANNOTATION.hash] !== containerHash(container);
    if (newest?.state === 'running' && !changed) {
      keep += 1;
    } else if (newest !== undefined && mayRun(newest)) {
      const why =
        newest.state === 'unknown'
          ? 'is in unknown state, try killing it before restart'
          : 'definition changed, will be restarted';
      stop.push({ container: newest, message: `Container ${container.name} ${why}` });
      start.push({ container, attempt: newest.attempt + 1, created: undefined, previous: undefined });
    } else if (restartDecision(pod, container, newest).restart) {
      start.push(startOf(container, newest, changed, sandbox));
    }
  }
  const idle = keep === 0 && start.length === 0;
  return {
    killPod: idle,
    stop: idle ? [] : stop,
    remove: leftovers(runtime, sandbox),
    createSandbox: undefined,
    sandbox,
    start,
  };
}

/** A container that was made but not started is started; making it once more would only count a restart. */
function startOf(
  container: Container,
  newest: RuntimeContainer | undefined,
  changed: boolean,
  sandbox: RuntimeSandbox,
): ContainerStart {
  const usable = newest?.state === 'created' && !changed && newest.sandboxId === sandbox.id;
  if (usable) return { container, attempt: newest.attempt, created: newest, previous: undefined };
  return { container, attempt: nextAttempt(newest), created: undefined, previous: newest };
}

/**
 * An attempt number grows only when the runtime lists the attempt before it, so that a lost answer can not skip or
 * repeat one (DESIGN rule 5).
 */
function nextAttempt(newest: RuntimeContainer | undefined): number {
  return newest === undefined ? 0 : newest.attempt + 1;
}

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
