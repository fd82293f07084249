import type { Container, EphemeralContainer, RuntimeContainer, RuntimeSandbox } from '@kubus/contracts';
import type { ContainerKind } from './container-kind.ts';
import type { DeadContainers } from './dead-containers.ts';
import type { ProbeResults } from './probe-results.ts';

/** Why a single container is stopped; it determines the grace period (behaviour:kill-and-grace). */
export type StopReason = 'startupProbe' | 'livenessProbe' | 'other';

export interface ContainerStop {
  readonly container: RuntimeContainer;
  /** Message of the event `Killing`. */
  readonly message: string;
  readonly reason: StopReason;
}

export interface ContainerStart {
  /** When a plain `init` container fails to start, nothing after it is started. */
  readonly kind: ContainerKind;
  readonly container: Container | EphemeralContainer;
  readonly attempt: number;
  /** A container that was created for this attempt and has not been started yet. */
  readonly created: RuntimeContainer | undefined;
  /** The newest run that has ended, which determines the back-off. */
  readonly previous: RuntimeContainer | undefined;
}

/** The actions that bring a pod to the state in its spec; in this order. */
export interface PodActions {
  /** Stop every container, then every sandbox. */
  readonly killPod: boolean;
  readonly stop: readonly ContainerStop[];
  /**
   * All containers are restarted: those in `stop` are killed without grace period, then those in `remove` are removed in
   * that order; their logs are kept. The container that caused it is removed last, so that its record shows until the
   * end what is being done. Then the pod is synced again at once (KEP-5532).
   */
  readonly restartAll: boolean;
  /** Sandboxes and containers that are no longer needed. */
  readonly remove: { readonly containers: readonly RuntimeContainer[]; readonly sandboxes: readonly RuntimeSandbox[] };
  /** Create a new sandbox with this attempt number. */
  readonly createSandbox: { readonly attempt: number; readonly replaces: boolean } | undefined;
  /** The current sandbox. */
  readonly sandbox: RuntimeSandbox | undefined;
  /** In order: ephemeral, then init containers and sidecars, then regular ones. */
  readonly start: readonly ContainerStart[];
}

/** What is known about a pod in addition to its spec and its state in the runtime. */
export interface PodActionsOptions {
  readonly probes?: ProbeResults | undefined;
  /** The highest number of a container's log files, by name: it determines the attempt when the runtime lists none. */
  readonly logIndexes?: ReadonlyMap<string, number> | undefined;
  /** Ids of running containers whose resize needs a restart by their resize policy (behaviour:resize). */
  readonly resizeRestarts?: ReadonlySet<string> | undefined;
  /** The feature gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers?: boolean | undefined;
  /** Which ended containers stay. Omitted: the newest of each name. */
  readonly deadContainers?: DeadContainers | undefined;
}

/**
 * The next attempt after `newest`. It grows only when the runtime lists the attempt before it, so that a lost reply
 * cannot skip or repeat one; where the runtime lists none, the log files decide (behaviour:container-actions,
 * startContainer).
 */
export function nextAttempt(newest: RuntimeContainer | undefined, logIndex: number | undefined): number {
  if (newest !== undefined) return newest.attempt + 1;
  return logIndex === undefined ? 0 : logIndex + 1;
}
