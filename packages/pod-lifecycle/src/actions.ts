import type { Container, EphemeralContainer, RuntimeContainer, RuntimeSandbox } from '@kubus/contracts';
import type { ContainerKind } from './container-kind.ts';
import type { ProbeResults } from './probe-results.ts';

/** Why a single container is stopped; it decides the grace period (kubelet behaviour 1.6). */
export type StopReason = 'startupProbe' | 'livenessProbe' | 'other';

export interface ContainerStop {
  readonly container: RuntimeContainer;
  /** Text of the event `Killing`. */
  readonly message: string;
  readonly reason: StopReason;
}

export interface ContainerStart {
  /** When a plain `init` container fails to start, nothing after it is started. */
  readonly kind: ContainerKind;
  readonly container: Container | EphemeralContainer;
  readonly attempt: number;
  /** A container that was made for this attempt and not started yet. */
  readonly created: RuntimeContainer | undefined;
  /** The newest run that has ended, for the back-off. */
  readonly previous: RuntimeContainer | undefined;
}

/** What a pod needs so that it becomes what its spec says; in this order. */
export interface PodActions {
  /** Stop every container, then every sandbox. */
  readonly killPod: boolean;
  readonly stop: readonly ContainerStop[];
  /**
   * Every container begins anew: those in `stop` are killed without grace and those in `remove` taken away in that order
   * while their logs stay, the one that caused it last, so that its record tells until the end what goes on. Then the pod
   * is decided upon again, at once (KEP-5532).
   */
  readonly restartAll: boolean;
  /** Sandboxes and containers of which nobody needs anything any more. */
  readonly remove: { readonly containers: readonly RuntimeContainer[]; readonly sandboxes: readonly RuntimeSandbox[] };
  /** Make a new sandbox under this attempt number. */
  readonly createSandbox: { readonly attempt: number; readonly replaces: boolean } | undefined;
  /** The sandbox that is there and serves. */
  readonly sandbox: RuntimeSandbox | undefined;
  /** One after another: ephemeral, then init containers and sidecars, then regular ones. */
  readonly start: readonly ContainerStart[];
}

/** What is known of a pod beside its spec and its state in the runtime. */
export interface PodActionsOptions {
  readonly probes?: ProbeResults | undefined;
  /** Container name to the highest number of its log files: what counts attempts when the runtime lists none. */
  readonly logIndexes?: ReadonlyMap<string, number> | undefined;
  /** Ids of running containers whose resize needs a restart by their resize policy (kubelet behaviour 1.18). */
  readonly resizeRestarts?: ReadonlySet<string> | undefined;
  /** The feature gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers?: boolean | undefined;
}

/**
 * The next attempt after `newest`. It grows only when the runtime lists the attempt before it, so that a lost answer can
 * not skip or repeat one; where the runtime lists none, the log files tell (kubelet behaviour 1.5, startContainer).
 */
export function nextAttempt(newest: RuntimeContainer | undefined, logIndex: number | undefined): number {
  if (newest !== undefined) return newest.attempt + 1;
  return logIndex === undefined ? 0 : logIndex + 1;
}
