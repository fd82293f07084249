import type { ProbeResult, RuntimeContainer } from '@kubus/contracts';
import type { ProbeKind, ProbeSettings } from './definition.ts';

/** The newest run of a container, as far as it matters to probes. */
export interface ProbedRun {
  /** The runtime's container id. */
  readonly id: string;
  readonly state: RuntimeContainer['state'];
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

/** What determines a probe's state besides its own attempts. */
export interface ProbeContext {
  /** Undefined where the runtime has no such container. */
  readonly run: ProbedRun | undefined;
  /** The container's startup probe has succeeded, or it has none. */
  readonly started: boolean;
  /** The pod is being ended. */
  readonly ending: boolean;
}

/** The result of an attempt that could be run. */
export type Verdict = 'success' | 'failure';

/** One probe of one container. */
export interface ProbeState {
  /** The run to which the other fields apply. */
  readonly runId: string | undefined;
  /** The probe's result for the run: the last verdict that was repeated often enough. */
  readonly result: ProbeResult;
  /** No further attempts are needed for this run. */
  readonly held: boolean;
  /** The last attempts with the same result. */
  readonly streak: { readonly verdict: Verdict; readonly count: number } | undefined;
}

/** A probe's result before its first verdict (behaviour:probes, initial values). */
const initialResults: Readonly<Record<ProbeKind, ProbeResult>> = {
  startup: 'unknown',
  liveness: 'success',
  readiness: 'failure',
};

/** A probe whose container has not been seen yet. */
export function initialProbe(kind: ProbeKind): ProbeState {
  return { runId: undefined, result: initialResults[kind], held: false, streak: undefined };
}

/**
 * Applies a change of the container and the pod (behaviour:probes: initial values, deletion, non-running).
 * Everything applies to one run only: a new run starts from the beginning, including its streak, which the reference keeps.
 *
 * A run that has exited has failed. One whose state the runtime does not know keeps its result, because it may be running.
 *
 * @param kept the result of the run before the prober itself was restarted
 */
export function observeRun(
  kind: ProbeKind,
  state: ProbeState,
  { run, ending }: ProbeContext,
  kept?: ProbeResult,
): ProbeState {
  if (run === undefined) return state;
  const present = state.runId === run.id ? state : beginRun(kind, run.id, kept);
  if (present.held) return present;
  if (run.state === 'exited') return { ...present, result: 'failure', held: true, streak: undefined };
  if (run.state === 'running' && ending && kind !== 'readiness') {
    // Containers of an ending pod are not restarted.
    return { ...present, result: 'success', held: true, streak: undefined };
  }
  return present;
}

function beginRun(kind: ProbeKind, runId: string, kept: ProbeResult | undefined): ProbeState {
  const result = kept ?? initialResults[kind];
  return { runId, result, held: kept !== undefined && isLastWord(kind, kept), streak: undefined };
}

/** A failed liveness probe causes a restart of its container, and a startup probe has only one final result. */
function isLastWord(kind: ProbeKind, result: ProbeResult): boolean {
  return (kind === 'liveness' && result === 'failure') || (kind === 'startup' && result !== 'unknown');
}

/** Whether the probe is to be run at its scheduled times (behaviour:probes, gating). */
export function mayProbe(kind: ProbeKind, state: ProbeState, { run, started }: ProbeContext): boolean {
  if (run?.state !== 'running' || state.runId !== run.id || state.held) return false;
  return kind === 'startup' || started;
}

/** Applies an attempt. Attempts that could not be run have no verdict: they are dropped before. */
export function conclude(
  kind: ProbeKind,
  state: ProbeState,
  verdict: Verdict,
  settings: Pick<ProbeSettings, 'successThreshold' | 'failureThreshold'>,
): ProbeState {
  const count = state.streak?.verdict === verdict ? state.streak.count + 1 : 1;
  const streak = { verdict, count };
  const threshold = verdict === 'success' ? settings.successThreshold : settings.failureThreshold;
  if (count < threshold) return { ...state, streak };
  const held = isLastWord(kind, verdict);
  return { ...state, result: verdict, held, streak: held ? undefined : streak };
}
