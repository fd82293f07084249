import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import type { PodActions } from '@kubus/pod-lifecycle';
import type { ImageSearch } from '../images/image-search.ts';
import type { SandboxInUse } from '../sandbox/sandbox-in-use.ts';

/** The subject of one round of a sync. */
export interface Round {
  readonly pod: Pod;
  /** The pod state that `actions` were decided on. */
  readonly runtime: RuntimePod | undefined;
  readonly actions: PodActions;
  /** The images of the containers that are to be started. */
  readonly search: ImageSearch;
  /** Set by the sandbox's step. */
  sandbox: SandboxInUse | undefined;
}

/** What is removed after a terminated pod. */
export interface Leftovers {
  readonly containers: readonly RuntimeContainer[];
  readonly sandboxes: readonly RuntimeSandbox[];
  /** No source has the pod: its files and logs are removed too. */
  readonly forget: boolean;
  /** None of its containers is kept: the logs of all of them are removed too. */
  readonly logs: boolean;
}

/** One step towards the state in the pod's spec, with the function that undoes it. */
export interface Step<Sync, EndSync = unknown> {
  readonly run: (sync: Sync, round: Round) => Promise<void>;
  /** Omitted: there is nothing to undo. */
  readonly undo?: (sync: EndSync, left: Leftovers) => Promise<void>;
}

/** Some container of the pod has to be started. */
export function starts({ createSandbox, start }: PodActions): boolean {
  return createSandbox !== undefined || start.length > 0;
}
