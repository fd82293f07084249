import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import { containersOf } from './container-kind.ts';
import { isSet, restartsAll } from './restart.ts';
import { mayRun } from './runtime-view.ts';

/**
 * What has to go before a pod begins anew in its sandbox because one of its containers ended with an exit code for which
 * a rule says RestartAllContainers (KEP-5532). Undefined when none did.
 */
export interface RestartAll {
  /** May still run. */
  readonly stop: readonly RuntimeContainer[];
  /** The last container of the spec first; those that caused it after all others. */
  readonly remove: readonly RuntimeContainer[];
}

/** Ephemeral containers are no part of it: they would never come back. */
export function restartAll(pod: Pod, runtime: RuntimePod | undefined, sandbox: RuntimeSandbox): RestartAll | undefined {
  if (isSet(pod.metadata.deletionTimestamp)) return undefined;
  const named = containersOf(pod).filter(({ kind }) => kind !== 'ephemeral');
  // Runs in earlier sandboxes go, too: they would be taken for the newest once those of this one are gone.
  const runs = named.map(({ container }) => ({
    container,
    runs: (runtime?.containers ?? []).filter(({ name }) => name === container.name),
  }));
  const causes = runs.filter(({ container, runs: [newest] }) => {
    return newest?.state === 'exited' && newest.sandboxId === sandbox.id && restartsAll(container, newest.exitCode);
  });
  if (causes.length === 0) return undefined;
  const targets = runs.filter((one) => !causes.includes(one));
  // A cause keeps its newest run until the very end: that run is what tells a restarted agent to go on.
  const remove = [...targets.toReversed(), ...causes.toReversed()].flatMap((one) => one.runs.toReversed());
  return { stop: remove.filter(mayRun), remove };
}
