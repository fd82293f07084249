import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import { containersOf } from './container-kind.ts';
import { isSet, restartsAll } from './restart.ts';
import { mayRun } from './runtime-view.ts';

/**
 * What is removed before a pod restarts in its sandbox because a container has ended with an exit code for which a rule
 * requires RestartAllContainers (KEP-5532). Undefined when there is no such container.
 */
export interface RestartAll {
  /** May still be running. */
  readonly stop: readonly RuntimeContainer[];
  /** The last container of the spec first; those that caused the restart after all others. */
  readonly remove: readonly RuntimeContainer[];
}

/** Ephemeral containers are not restarted: they start only once. */
export function restartAll(pod: Pod, runtime: RuntimePod | undefined, sandbox: RuntimeSandbox): RestartAll | undefined {
  if (isSet(pod.metadata.deletionTimestamp)) return undefined;
  const named = containersOf(pod).filter(({ kind }) => kind !== 'ephemeral');
  // Runs in earlier sandboxes are removed too: they would be mistaken for the newest ones after those of this sandbox are removed.
  const runs = named.map(({ container }) => ({
    container,
    runs: (runtime?.containers ?? []).filter(({ name }) => name === container.name),
  }));
  const causes = runs.filter(({ container, runs: [newest] }) => {
    return newest?.state === 'exited' && newest.sandboxId === sandbox.id && restartsAll(container, newest.exitCode);
  });
  if (causes.length === 0) return undefined;
  const targets = runs.filter((one) => !causes.includes(one));
  // A cause keeps its newest run until the end: from that run a restarted agent knows that it has to continue.
  const remove = [...targets.toReversed(), ...causes.toReversed()].flatMap((one) => one.runs.toReversed());
  return { stop: remove.filter(mayRun), remove };
}
