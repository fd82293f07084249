import type { Cause } from '@kubus/bus';
import type { LifecycleHandler, RuntimeContainer, RuntimeSandbox } from '@kubus/contracts';
import { type ContainerStop, type PlannedStop, graceLeftMs, killPlan, stopTimeout } from '@kubus/pod-lifecycle';
import { toError } from '@kubus/ports';
import { runHook } from './hooks.ts';
import { type Pass, recordEvent, unlessCancelled, within } from './pass.ts';

/** What has been begun to end a container; a pass that takes over from another one goes on with it. */
interface StopUnderWay {
  /** The event `Killing`, or what led to it where that is not told at once. */
  readonly why: readonly Cause[];
  /** The preStop handler. Never rejects. */
  readonly hook: Promise<void>;
  readonly abortHook: AbortController;
  /** The grace, and since when it runs; begins anew when it gets shorter. */
  graceSeconds: number;
  since: number;
}

/** By container id. */
export type StopsUnderWay = Map<string, StopUnderWay>;

export interface StopOptions {
  /** The whole pod ends: its sidecars wait for the containers that they serve. */
  readonly ordered: boolean;
  /** Seconds; replaces every container's own grace. */
  readonly graceOverrideSeconds?: number | undefined;
}

/**
 * Ends those of `stops` that may run, all at once: event, preStop handler, their turn, stop (kubelet behaviour 1.6). Handler
 * and waiting take their time from the grace.
 */
export async function stopContainers(
  pass: Pass,
  stops: readonly (Pick<ContainerStop, 'container'> & Partial<ContainerStop>)[],
  { ordered, graceOverrideSeconds }: StopOptions,
): Promise<void> {
  const plans = killPlan({ pod: pass.pod, stops, graceOverrideSeconds, ordered });
  const ends = new Map(plans.map(({ container }) => [container.id, Promise.withResolvers<undefined>()]));
  await Promise.all(
    plans.map(async (plan) => {
      const turn = plan.waitsFor.map((id) => ends.get(id)?.promise);
      try {
        await stopContainer(pass, plan, turn);
      } finally {
        // Also when the stop failed: it is tried again, and whoever waits must not wait for longer than its grace.
        ends.get(plan.container.id)?.resolve(undefined);
      }
    }),
  );
}

/** Stops every sandbox: its network goes, and whatever still runs in it. */
export async function stopSandboxes(pass: Pass, sandboxes: readonly RuntimeSandbox[]): Promise<void> {
  for (const { id } of sandboxes) {
    await unlessCancelled(pass, pass.runtime.change('StopPodSandbox', { podSandboxId: id }, pass.runtime.cause));
  }
}

/** As many as {@link stopContainers} takes, without a reason of their own. */
export function asStops(containers: readonly RuntimeContainer[] | undefined): Pick<ContainerStop, 'container'>[] {
  return (containers ?? []).map((container) => ({ container }));
}

async function stopContainer(pass: Pass, plan: PlannedStop, turn: readonly unknown[]): Promise<void> {
  const { clock } = pass.deps;
  const { container, graceSeconds } = plan;
  const stop = begin(pass, plan);
  const elapsed = () => clock.now() - stop.since;
  const left = () => graceLeftMs(graceSeconds, elapsed());
  await within(pass, stop.hook, left());
  if (turn.length > 0) await within(pass, Promise.all(turn), left());
  stop.abortHook.abort();
  const timeout = String(stopTimeout(graceSeconds, elapsed()));
  await unlessCancelled(pass, pass.runtime.change('StopContainer', { containerId: container.id, timeout }, stop.why));
}

function begin(pass: Pass, plan: PlannedStop): StopUnderWay {
  const { id } = plan.container;
  const now = pass.deps.clock.now();
  const underWay = pass.stops.get(id);
  if (underWay !== undefined) {
    if (plan.graceSeconds !== underWay.graceSeconds) {
      underWay.graceSeconds = plan.graceSeconds;
      underWay.since = now;
    }
    return underWay;
  }
  const { spec, event, graceSeconds, preStop } = plan;
  const told = recordEvent(pass, {
    type: 'Normal',
    reason: 'Killing',
    message: event.message,
    container: { name: spec.name },
  });
  const abortHook = new AbortController();
  const hook = preStop === undefined ? Promise.resolve() : runPreStop(pass, plan, preStop, abortHook.signal);
  const why = told === undefined ? pass.causes : [told];
  const begun = { why, hook, abortHook, graceSeconds, since: now };
  pass.stops.set(id, begun);
  return begun;
}

async function runPreStop(pass: Pass, plan: PlannedStop, handler: LifecycleHandler, signal: AbortSignal) {
  const { container, spec } = plan;
  try {
    await runHook(pass, { containerId: container.id, container: spec }, handler, signal);
  } catch (error) {
    // Its grace is over; that it was ended by us is not its failure.
    if (signal.aborted) return;
    pass.logger.warn({ container: spec.name, err: toError(error) }, 'the preStop handler failed');
    const message = 'PreStopHook failed';
    recordEvent(pass, { type: 'Warning', reason: 'FailedPreStopHook', message, container: spec });
  }
}
