import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import type { ContainerStart, ContainerStop, PodActions, PodActionsOptions } from './actions.ts';
import { containersOf } from './container-kind.ts';
import { startOf } from './container-starts.ts';
import { initActions } from './init-actions.ts';
import { leftovers, unknownContainers } from './leftovers.ts';
import { regularActions } from './regular-actions.ts';
import { restartAll } from './restart-all.ts';
import { isSet, restartDecision } from './restart.ts';
import { mayRun, newestContainer } from './runtime-view.ts';
import { sandboxDecision } from './sandbox-decision.ts';

/** Decides from the pod's spec and its state in the runtime (behaviour:container-actions, computePodActions). */
export function podActions(pod: Pod, runtime: RuntimePod | undefined, options: PodActionsOptions = {}): PodActions {
  const decision = sandboxDecision(pod, runtime);
  if (decision.kind === 'create') return withNewSandbox(pod, runtime, decision.attempt, options);
  const { sandbox } = decision;
  const all = options.restartAllContainers === true ? restartAll(pod, runtime, sandbox) : undefined;
  if (all === undefined) return withinSandbox(pod, runtime, sandbox, options);
  return {
    ...nothing,
    restartAll: true,
    sandbox,
    // The reference's complete message.
    stop: all.stop.map((container) => ({ container, message: 'killing', reason: 'other' })),
    remove: { containers: all.remove, sandboxes: [] },
  };
}

const nothing: PodActions = {
  killPod: false,
  stop: [],
  restartAll: false,
  remove: { containers: [], sandboxes: [] },
  createSandbox: undefined,
  sandbox: undefined,
  start: [],
};

/**
 * Everything stops with the old sandbox. In the new one the pod starts with its first init container, or with those of
 * its regular containers that have not finished their work.
 */
function withNewSandbox(
  pod: Pod,
  runtime: RuntimePod | undefined,
  attempt: number,
  options: PodActionsOptions,
): PodActions {
  const killed: PodActions = { ...nothing, killPod: (runtime?.sandboxes.length ?? 0) > 0 };
  if (isSet(pod.metadata.deletionTimestamp)) return killed;
  const everRan = (runtime?.containers.length ?? 0) > 0;
  if (pod.spec.restartPolicy === 'Never' && attempt !== 0 && everRan) return killed;
  const regular = pod.spec.containers.flatMap((container): ContainerStart[] => {
    const newest = newestContainer(runtime, container.name);
    // Running containers end with their sandbox and start again in the new one.
    const judged: RuntimeContainer | undefined =
      newest !== undefined && mayRun(newest) ? { ...newest, state: 'exited', exitCode: 137 } : newest;
    if (!restartDecision(pod, container, judged).restart) return [];
    return [startOf({ kind: 'regular', container }, runtime, undefined, options)];
  });
  const regularRan = pod.spec.containers.some(({ name }) => newestContainer(runtime, name) !== undefined);
  if (regular.length === 0 && regularRan) return killed;
  const createSandbox = { attempt, replaces: attempt > 0 };
  const inits = containersOf(pod).filter(({ kind }) => kind === 'init' || kind === 'sidecar');
  const [first] = inits;
  if (first === undefined) return { ...killed, createSandbox, start: regular };
  // Runs of init containers in the old sandbox would be mistaken for progress in the new one. The newest is
  // removed last, because it determines the number of the next attempt.
  const purged = (runtime?.containers ?? [])
    .filter(({ name }) => inits.some(({ container }) => container.name === name))
    .reverse();
  return {
    ...killed,
    remove: { containers: purged, sandboxes: [] },
    createSandbox,
    start: [startOf(first, runtime, undefined, options)],
  };
}

function withinSandbox(
  pod: Pod,
  runtime: RuntimePod | undefined,
  sandbox: RuntimeSandbox,
  options: PodActionsOptions,
): PodActions {
  const deleted = isSet(pod.metadata.deletionTimestamp);
  const unknown = unknownContainers(pod, runtime);
  const remains = leftovers(runtime, sandbox, options.deadContainers);
  const base: PodActions = {
    ...nothing,
    sandbox,
    remove: { ...remains, containers: [...new Set([...remains.containers, ...unknown.filter((one) => !mayRun(one))])] },
  };
  const orphans = unknown.filter(mayRun).map((container): ContainerStop => ({
    container,
    message: `Stopping container ${container.name}`,
    reason: 'other',
  }));
  const init = initActions(pod, runtime, sandbox, options);
  if (init.failed) return { ...base, killPod: true };
  const ephemeral = deleted ? [] : ephemeralStarts(pod, runtime, sandbox, options);
  if (!init.initialized) {
    const start = deleted ? [] : [...ephemeral, ...init.start];
    return { ...base, stop: [...orphans, ...init.stop], start };
  }
  const regular = regularActions(pod, runtime, sandbox, options);
  // Sidecars do not keep a pod running whose other containers have finished.
  if (regular.kept === 0 && regular.start.length === 0) return { ...base, killPod: true };
  const start = deleted ? [] : [...ephemeral, ...init.start, ...regular.start];
  return { ...base, stop: [...orphans, ...init.stop, ...regular.stop], start };
}

/**
 * An ephemeral container starts once, whatever the others do; one that has ended is never started again, even when only
 * its log is left.
 */
function ephemeralStarts(
  pod: Pod,
  runtime: RuntimePod | undefined,
  sandbox: RuntimeSandbox,
  options: PodActionsOptions,
): ContainerStart[] {
  return containersOf(pod)
    .filter(({ kind, container }) => {
      if (kind !== 'ephemeral') return false;
      const newest = newestContainer(runtime, container.name);
      if (newest === undefined) return options.logIndexes?.has(container.name) !== true;
      return newest.state === 'created' && newest.sandboxId === sandbox.id;
    })
    .map((named) => startOf(named, runtime, sandbox, options));
}
