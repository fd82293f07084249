import type { ProbeResult, RuntimeContainer } from '@kubus/contracts';
import type { ProbeKind, ProbeSettings } from './definition.ts';

/** The newest run of a container, as far as its probes care. */
export interface ProbedRun {
  /** The runtime's container id. */
  readonly id: string;
  readonly state: RuntimeContainer['state'];
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

/** What decides beside a probe's own attempts. */
export interface ProbeContext {
  /** Undefined where the runtime has no such container. */
  readonly run: ProbedRun | undefined;
  /** The container's startup probe has succeeded, or it has none. */
  readonly started: boolean;
  /** The pod is being ended. */
  readonly ending: boolean;
}

/** What an attempt that could be made says. */
export type Verdict = 'success' | 'failure';

/** One probe of one container. */
export interface ProbeState {
  /** The run that all the rest is about. */
  readonly runId: string | undefined;
  /** What the probe says of the run: the last verdict that came often enough in a row. */
  readonly result: ProbeResult;
  /** There is nothing more to find out about this run. */
  readonly held: boolean;
  /** The last attempts that ended alike. */
  readonly streak: { readonly verdict: Verdict; readonly count: number } | undefined;
}

/** What a probe says before its first verdict (kubelet behaviour 1.11, initial values). */
const initialResults: Readonly<Record<ProbeKind, ProbeResult>> = {
  startup: 'unknown',
  liveness: 'success',
  readiness: 'failure',
};

/** A probe whose container nobody has seen yet. */
export function initialProbe(kind: ProbeKind): ProbeState {
  return { runId: undefined, result: initialResults[kind], held: false, streak: undefined };
}

/**
 * Takes in what happened to the container and the pod (kubelet behaviour 1.11: initial values, deletion, non-running).
 * Everything counts for one run only: a new one begins anew, also its streak, which the reference carries over.
 *
 * A run that has exited has failed. One whose state the runtime does not know keeps its result: it may well run.
 *
 * @param kept what was known of the run before the prober's own restart
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
    // Nobody restarts a container of a pod that ends.
    return { ...present, result: 'success', held: true, streak: undefined };
  }
  return present;
}

function beginRun(kind: ProbeKind, runId: string, kept: ProbeResult | undefined): ProbeState {
  const result = kept ?? initialResults[kind];
  return { runId, result, held: kept !== undefined && isLastWord(kind, kept), streak: undefined };
}

/** A failed liveness probe gets its container restarted, and a startup probe has only one thing to say. */
function isLastWord(kind: ProbeKind, result: ProbeResult): boolean {
  return (kind === 'liveness' && result === 'failure') || (kind === 'startup' && result !== 'unknown');
}

/** Whether the probe is to be made now and then (kubelet behaviour 1.11, gating). */
export function mayProbe(kind: ProbeKind, state: ProbeState, { run, started }: ProbeContext): boolean {
  if (run?.state !== 'running' || state.runId !== run.id || state.held) return false;
  return kind === 'startup' || started;
}

/** Takes in an attempt. Attempts that could not be made are not verdicts: they are thrown away before. */
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
