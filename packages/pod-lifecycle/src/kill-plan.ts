import type { Container, LifecycleHandler, Pod, RuntimeContainer } from '@kubus/contracts';
import type { ContainerStop, StopReason } from './actions.ts';
import { containerFieldPath, containersOf, findContainer } from './container-kind.ts';
import { mayRun } from './runtime-view.ts';
import { readStopAnnotations } from './stop-annotations.ts';

/** How one container is ended. */
export interface PlannedStop {
  readonly container: RuntimeContainer;
  /** The spec's container, or what its annotations tell of it; a preStop handler finds its ports in it. */
  readonly spec: Container;
  /** The event `Killing`, recorded before anything else is done. */
  readonly event: { readonly message: string; readonly fieldPath: string };
  /** Seconds for the handler, the waiting and the stop together; see {@link stopTimeout}. */
  readonly graceSeconds: number;
  /** Run first, for as long as the grace lasts. All containers' handlers start at once. */
  readonly preStop: LifecycleHandler | undefined;
  /**
   * Ids of containers of the same plan that have to end before this one is told to, as long as grace is left (KEP-753:
   * sidecars after the regular containers and in reverse order).
   */
  readonly waitsFor: readonly string[];
}

export interface KillPlanInput {
  /** Undefined when only the runtime knows the pod. */
  readonly pod: Pod | undefined;
  readonly stops: readonly (Pick<ContainerStop, 'container'> & Partial<ContainerStop>)[];
  /** Replaces every container's own grace: an ending pod's, or 0 when all containers are restarted. */
  readonly graceOverrideSeconds?: number | undefined;
  /** The whole pod ends, so that sidecars have to wait for their turn. */
  readonly ordered: boolean;
}

/** The least that a container gets between TERM and KILL, in seconds (kubelet behaviour 1.6). */
const LEAST_SECONDS = 2;

/** Says how a set of containers is ended, all of them at the same time. Those that can not run are left out. */
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
 * Seconds to pass to the runtime's StopContainer, when `elapsedMs` of the plan's grace went into the preStop handler and
 * the waiting. Time that was waited counts in whole seconds, rounded down.
 */
export function stopTimeout(graceSeconds: number, elapsedMs: number): number {
  return Math.max(LEAST_SECONDS, graceSeconds - Math.floor(elapsedMs / 1000));
}

/** Milliseconds that are left of the grace for the handler or the waiting; 0 means go on with the stop. */
export function graceLeftMs(graceSeconds: number, elapsedMs: number): number {
  return Math.max(0, graceSeconds * 1000 - elapsedMs);
}

/** A deletion's grace goes before everything; a probe's own replaces the pod's. */
function containerGrace({ metadata, spec }: Pod, container: Container, reason: StopReason): number {
  if (metadata.deletionGracePeriodSeconds !== undefined) return metadata.deletionGracePeriodSeconds;
  if (spec.terminationGracePeriodSeconds === undefined) return LEAST_SECONDS;
  const probe = { startupProbe: container.startupProbe, livenessProbe: container.livenessProbe, other: undefined };
  return probe[reason]?.terminationGracePeriodSeconds ?? spec.terminationGracePeriodSeconds;
}

/** Those of `running` that a sidecar lets go first: the regular containers and the sidecars after it. */
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
