import type { Cause } from '@kubus/bus';
import {
  type LifecycleHandler,
  type RuntimeContainer,
  type RuntimeSandbox,
  joinErrors,
  rpcErrorText,
} from '@kubus/contracts';
import { type ContainerStop, type PlannedStop, graceLeftMs, killPlan, stopTimeout } from '@kubus/pod-lifecycle';
import { KubusError, toError } from '@kubus/ports';
import { runHook } from './hooks.ts';
import { type Pass, recordEvent, unlessCancelled, within } from './pass.ts';
import { isAnswer } from './runtime-answer.ts';

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

/** The runtime has refused to stop something; the message is the reference's for each of them. */
export class KillFailed extends KubusError {
  constructor(message: string, cause: unknown) {
    super('kill-failed', message, { cause });
  }
}

/** By container id. */
export type StopsUnderWay = Map<string, StopUnderWay>;

/** Forgets those of containers that are gone. */
export function forgetStops(stops: StopsUnderWay, containers: readonly RuntimeContainer[] = []): void {
  const ids = new Set(containers.map(({ id }) => id));
  for (const id of stops.keys()) if (!ids.has(id)) stops.delete(id);
}

export interface StopOptions {
  /** The whole pod ends: its sidecars wait for the containers that they serve. */
  readonly ordered: boolean;
  /** Seconds; replaces every container's own grace. */
  readonly graceOverrideSeconds?: number | undefined;
}

/**
 * Ends those of `stops` that may run, all at once: event, preStop handler, their turn, stop (kubelet behaviour 1.6). Handler
 * and waiting take their time from the grace. Throws {@link KillFailed} when all the others have been tried too.
 */
export async function stopContainers(
  pass: Pass,
  stops: readonly (Pick<ContainerStop, 'container'> & Partial<ContainerStop>)[],
  { ordered, graceOverrideSeconds }: StopOptions,
): Promise<void> {
  const plans = killPlan({ pod: pass.pod, stops, graceOverrideSeconds, ordered });
  const ends = new Map(plans.map(({ container }) => [container.id, Promise.withResolvers<undefined>()]));
  const failures: KillFailed[] = [];
  await Promise.all(
    plans.map(async (plan) => {
      const turn = plan.waitsFor.map((id) => ends.get(id)?.promise);
      try {
        await stopContainer(pass, plan, turn);
      } catch (error) {
        // Everything else ends the pass, and at once.
        if (!(error instanceof KillFailed)) throw error;
        failures.push(error);
      } finally {
        // Also when the stop failed: it is tried again, and whoever waits must not wait for longer than its grace.
        ends.get(plan.container.id)?.resolve(undefined);
      }
    }),
  );
  if (failures.length > 0) throw new KillFailed(joinErrors(failures.map(({ message }) => message)), failures[0]);
}

/** Stops every sandbox: its network goes, and whatever still runs in it. Throws {@link KillFailed}. */
export async function stopSandboxes(pass: Pass, sandboxes: readonly RuntimeSandbox[]): Promise<void> {
  for (const { id } of sandboxes) {
    const stopped = pass.runtime.change('StopPodSandbox', { podSandboxId: id }, pass.runtime.cause);
    await orKillFailed(unlessCancelled(pass, stopped), 'KillPodSandbox', pass.ref.uid);
  }
}

async function orKillFailed(stopped: Promise<unknown>, action: string, target: string): Promise<void> {
  try {
    await stopped;
  } catch (error) {
    if (!isAnswer(error)) throw error;
    const text = JSON.stringify(rpcErrorText(error));
    throw new KillFailed(`failed to "${action}" for "${target}" with ${action}Error: ${text}`, error);
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
  const stopped = pass.runtime.change('StopContainer', { containerId: container.id, timeout }, stop.why);
  await orKillFailed(unlessCancelled(pass, stopped), 'KillContainer', container.name);
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
