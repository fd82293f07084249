import type { Container, LifecycleHandler, Pod, RuntimeContainer } from '@kubus/contracts';
import type { ContainerStop, StopReason } from './actions.ts';
import { containerFieldPath, containersOf, findContainer } from './container-kind.ts';
import { mayRun } from './runtime-view.ts';
import { readStopAnnotations } from './stop-annotations.ts';

/** How one container is stopped. */
export interface PlannedStop {
  readonly container: RuntimeContainer;
  /** The container in the spec, or what its annotations contain of it; a preStop handler takes its ports from it. */
  readonly spec: Container;
  /** The event `Killing`, recorded first. */
  readonly event: { readonly message: string; readonly fieldPath: string };
  /** Seconds for the handler, the wait and the stop together; see {@link stopTimeout}. */
  readonly graceSeconds: number;
  /** Runs first, at most for the grace period. The handlers of all containers start at the same time. */
  readonly preStop: LifecycleHandler | undefined;
  /**
   * Ids of containers in the same plan that have to end before this one is stopped, while the grace period lasts
   * (KEP-753: sidecars after the regular containers and in reverse order).
   */
  readonly waitsFor: readonly string[];
}

export interface KillPlanInput {
  /** Undefined when only the runtime knows the pod. */
  readonly pod: Pod | undefined;
  readonly stops: readonly (Pick<ContainerStop, 'container'> & Partial<ContainerStop>)[];
  /** Replaces every container's own grace period: that of an ending pod, or 0 when all containers are restarted. */
  readonly graceOverrideSeconds?: number | undefined;
  /** The whole pod ends, so sidecars wait for the containers before them. */
  readonly ordered: boolean;
}

/** The minimum time between SIGTERM and SIGKILL for a container, in seconds (behaviour:kill-and-grace). */
const LEAST_SECONDS = 2;

/** Plans how a set of containers is stopped, all at the same time. Those that are not running are omitted. */
export function killPlan({ pod, stops, graceOverrideSeconds, ordered }: KillPlanInput): PlannedStop[] {
  const running = stops.filter(({ container }) => mayRun(container));
  return running.map(({ container, message, reason = 'other' }): PlannedStop => {
    const restored = readStopAnnotations(container);
    const spec = (pod === undefined ? undefined : findContainer(pod, container.name)?.container) ?? restored.container;
    const graceSeconds =
      graceOverrideSeconds ??
      (pod === undefined
        ? (restored.deletionGraceSeconds ?? restored.terminationGraceSeconds ?? LEAST_SECONDS)
        : containerGrace(pod, spec, reason));
    return {
      container,
      spec,
      event: {
        message: message ?? `Stopping container ${container.name}`,
        fieldPath: containerFieldPath(pod, container.name),
      },
      graceSeconds,
      preStop: graceSeconds > 0 ? spec.lifecycle?.preStop : undefined,
      waitsFor: pod === undefined || !ordered ? [] : turnAfter(pod, container.name, running),
    };
  });
}

/**
 * Seconds to pass to the runtime's StopContainer, when the preStop handler and the wait took `elapsedMs` of the
 * plan's grace period. Elapsed time counts in whole seconds, rounded down.
 */
export function stopTimeout(graceSeconds: number, elapsedMs: number): number {
  return Math.max(LEAST_SECONDS, graceSeconds - Math.floor(elapsedMs / 1000));
}

/** Milliseconds of the grace period that are left for the handler or the wait; 0 means that the stop is due. */
export function graceLeftMs(graceSeconds: number, elapsedMs: number): number {
  return Math.max(0, graceSeconds * 1000 - elapsedMs);
}

/** A deletion's grace period takes precedence; a probe's own replaces the pod's. */
function containerGrace({ metadata, spec }: Pod, container: Container, reason: StopReason): number {
  if (metadata.deletionGracePeriodSeconds !== undefined) return metadata.deletionGracePeriodSeconds;
  if (spec.terminationGracePeriodSeconds === undefined) return LEAST_SECONDS;
  const probe = { startupProbe: container.startupProbe, livenessProbe: container.livenessProbe, other: undefined };
  return probe[reason]?.terminationGracePeriodSeconds ?? spec.terminationGracePeriodSeconds;
}

/** Those of `running` that end before a sidecar: the regular containers, and the sidecars after it. */
function turnAfter(
  pod: Pod,
  name: string,
  running: readonly { readonly container: RuntimeContainer }[],
): readonly string[] {
  const order = containersOf(pod);
  const own = order.findIndex(({ container }) => container.name === name);
  if (order[own]?.kind !== 'sidecar') return [];
  const before = order
    .slice(own + 1)
    .filter(({ kind }) => kind === 'sidecar' || kind === 'regular')
    .map(({ container }) => container.name);
  return running.filter(({ container }) => before.includes(container.name)).map(({ container }) => container.id);
}
