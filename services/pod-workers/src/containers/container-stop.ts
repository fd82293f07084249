import { type LifecycleHandler, type RuntimeContainer, joinErrors } from '@kubus/contracts';
import { type ContainerStop, type PlannedStop, graceLeftMs, killPlan, stopTimeout } from '@kubus/pod-lifecycle';
import { toError } from '@kubus/ports';
import { recordEvent, unlessCancelled, within } from '../sync/pod-sync.ts';
import type { PodMemory } from '../worker/pod-memory.ts';
import { type HookSync, runHook } from './hooks.ts';
import { KillFailed, orKillFailed } from './kill-failed.ts';
import type { StopUnderWay } from './stops-under-way.ts';

/** What stopping containers uses. */
export type StopSync = HookSync & Pick<PodMemory, 'stops'>;

export interface StopOptions {
  /** The whole pod is stopped: its sidecars wait for the containers that use them. */
  readonly ordered: boolean;
  /** Seconds; replaces every container's own grace period. Omitted: each uses its own. */
  readonly graceOverrideSeconds?: number | undefined;
}

/**
 * Stops the containers of `stops` that may run, all at once: event, preStop handler, their turn, stop (behaviour:kill-and-grace). Handler
 * and waiting count towards the grace period. Throws {@link KillFailed} after all the others have been tried too.
 */
export async function stopContainers(
  sync: StopSync,
  stops: readonly (Pick<ContainerStop, 'container'> & Partial<ContainerStop>)[],
  { ordered, graceOverrideSeconds }: StopOptions,
): Promise<void> {
  const plans = killPlan({ pod: sync.pod, stops, graceOverrideSeconds, ordered });
  const ends = new Map(plans.map(({ container }) => [container.id, Promise.withResolvers<undefined>()]));
  const failures: KillFailed[] = [];
  await Promise.all(
    plans.map(async (plan) => {
      const turn = plan.waitsFor.map((id) => ends.get(id)?.promise);
      try {
        await stopContainer(sync, plan, turn);
      } catch (error) {
        // Any other error ends the sync at once.
        if (!(error instanceof KillFailed)) throw error;
        failures.push(error);
      } finally {
        // Also when the stop failed: it is retried, and no other container waits longer than its own grace period.
        ends.get(plan.container.id)?.resolve(undefined);
      }
    }),
  );
  if (failures.length > 0) throw new KillFailed(joinErrors(failures.map(({ message }) => message)), failures[0]);
}

/** The containers in the form that {@link stopContainers} takes, without reasons of their own. */
export function asStops(containers: readonly RuntimeContainer[] | undefined): Pick<ContainerStop, 'container'>[] {
  return (containers ?? []).map((container) => ({ container }));
}

async function stopContainer(sync: StopSync, plan: PlannedStop, turn: readonly unknown[]): Promise<void> {
  const { clock, runtime } = sync;
  const { container, graceSeconds } = plan;
  const stop = begin(sync, plan);
  const elapsed = () => clock.now() - stop.since;
  const left = () => graceLeftMs(graceSeconds, elapsed());
  await within(sync, stop.hook, left());
  if (turn.length > 0) await within(sync, Promise.all(turn), left());
  stop.abortHook.abort();
  const timeout = String(stopTimeout(graceSeconds, elapsed()));
  const stopped = runtime.change('StopContainer', { containerId: container.id, timeout }, stop.why);
  await orKillFailed(unlessCancelled(sync, stopped), 'KillContainer', container.name);
}

function begin(sync: StopSync, plan: PlannedStop): StopUnderWay {
  const { id } = plan.container;
  const now = sync.clock.now();
  const underWay = sync.stops.get(id);
  if (underWay !== undefined) {
    if (plan.graceSeconds !== underWay.graceSeconds) {
      underWay.graceSeconds = plan.graceSeconds;
      underWay.since = now;
    }
    return underWay;
  }
  const { spec, event, graceSeconds, preStop } = plan;
  const recorded = recordEvent(sync, {
    type: 'Normal',
    reason: 'Killing',
    message: event.message,
    container: { name: spec.name },
  });
  const abortHook = new AbortController();
  const hook = preStop === undefined ? Promise.resolve() : runPreStop(sync, plan, preStop, abortHook.signal);
  const why = recorded === undefined ? sync.causes : [recorded];
  const stop = { why, hook, abortHook, graceSeconds, since: now };
  sync.stops.set(id, stop);
  return stop;
}

async function runPreStop(sync: StopSync, plan: PlannedStop, handler: LifecycleHandler, signal: AbortSignal) {
  const { container, spec } = plan;
  try {
    await runHook(sync, { containerId: container.id, container: spec }, handler, signal);
  } catch (error) {
    // The grace period is over: the abort is not a failure of the handler.
    if (signal.aborted) return;
    sync.logger.warn({ container: spec.name, err: toError(error) }, 'preStop hook failed');
    const message = 'PreStopHook failed';
    recordEvent(sync, { type: 'Warning', reason: 'FailedPreStopHook', message, container: spec });
  }
}
