import type { ProbeResult } from '@kubus/contracts';
import { DEFAULT_BUCKETS, Distribution } from '@kubus/metrics';
import type { Cancel, Clock } from '@kubus/ports';
import {
  type ProbeContext,
  type ProbeDefinition,
  type ProbeState,
  type ProbedRun,
  type Schedule,
  conclude,
  firstAttempt,
  initialProbe,
  mayProbe,
  nextAttempt,
  observeRun,
  spreadOf,
} from '@kubus/probe';
import type { Outcome } from './make-attempt.ts';

/** Longest delay of one timer, in milliseconds: timers cannot wait for weeks. */
const MAX_WAIT_MS = 3_600_000;

export interface ProbeLoopOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly fraction: () => number;
  /** Milliseconds since the Unix epoch. */
  readonly proberStartedAt: number;
  /** Makes one attempt at `run`; does not reject. */
  readonly make: (definition: ProbeDefinition, run: ProbedRun, cancelled: AbortSignal) => Promise<Outcome>;
  /** Called with the outcome of each valid attempt, after the loop has processed it. */
  readonly onOutcome: (definition: ProbeDefinition, outcome: Outcome, previous: ProbeResult) => void;
}

/** One probe of one container: made at its time, one attempt at a time. Holds no timer while there is nothing to probe. */
export class ProbeLoop {
  /** Attempts by how they ended, for the metrics. */
  readonly counts = { successful: 0, failed: 0, unknown: 0 };
  /** Durations of successful attempts, in seconds. */
  readonly seconds = new Distribution(DEFAULT_BUCKETS);
  readonly #options: ProbeLoopOptions;
  #definition: ProbeDefinition;
  #context: ProbeContext = { run: undefined, started: false, ending: false };
  #state: ProbeState;
  #schedule: Schedule | undefined;
  #timer: Cancel | undefined;
  #flight: AbortController | undefined;
  /** Whether the run has been probed; before that, nothing brings its first attempt forward. */
  #attempted = false;
  #again = false;

  constructor(definition: ProbeDefinition, options: ProbeLoopOptions) {
    this.#options = options;
    this.#definition = definition;
    this.#state = initialProbe(definition.kind);
  }

  get definition(): ProbeDefinition {
    return this.#definition;
  }

  get state(): ProbeState {
    return this.#state;
  }

  /** Takes in changes of the container and the pod. `kept`: see `observeRun`. */
  update(definition: ProbeDefinition, context: ProbeContext, kept: ProbeResult | undefined): void {
    const { runId } = this.#state;
    this.#definition = definition;
    this.#context = context;
    this.#state = observeRun(definition.kind, this.#state, context, kept);
    const isNew = this.#state.runId !== runId;
    if (isNew) {
      this.stop();
      this.#attempted = false;
    }
    if (!this.#mayProbe()) this.stop();
    else if (this.#schedule === undefined) this.#begin(isNew);
  }

  /** Something has changed that may make a container ready: probes it now. */
  trigger(): void {
    if (this.#definition.kind !== 'readiness' || this.#state.result === 'success') return;
    if (!this.#attempted || this.#schedule === undefined) return;
    if (this.#flight !== undefined) this.#again = true;
    else this.#attemptAt(this.#now());
  }

  /** Cancels the running attempt; its result is dropped. */
  stop(): void {
    this.#timer?.();
    this.#timer = undefined;
    this.#flight?.abort();
    this.#flight = undefined;
    this.#schedule = undefined;
    this.#again = false;
  }

  /** @param isNew the run was not known before */
  #begin(isNew: boolean): void {
    const { fraction, proberStartedAt } = this.#options;
    const { kind, settings } = this.#definition;
    const now = this.#options.clock.now();
    const startedAt = this.#context.run?.startedAt ?? now;
    const times = { now, startedAt, proberStartedAt };
    const spread = isNew ? spreadOf(settings.periodMs, times, fraction) : undefined;
    this.#attemptAt(firstAttempt(kind, settings, { now, startedAt, spread }));
  }

  #attemptAt(schedule: Schedule): void {
    this.#timer?.();
    this.#schedule = schedule;
    const { clock } = this.#options;
    const wait = Math.min(Math.max(0, schedule.at - clock.now()), MAX_WAIT_MS);
    this.#timer = clock.after(wait, () => {
      // A timer may fire a little early, and a long delay takes more than one.
      if (clock.now() < schedule.at) this.#attemptAt(schedule);
      else void this.#attempt(schedule);
    });
  }

  async #attempt({ anchor }: Schedule): Promise<void> {
    const { run } = this.#context;
    if (run === undefined) return;
    const flight = new AbortController();
    const { clock, make, onOutcome } = this.#options;
    const began = clock.now();
    const definition = this.#definition;
    this.#timer = undefined;
    this.#flight = flight;
    this.#attempted = true;
    const outcome = await make(definition, run, flight.signal);
    if (flight.signal.aborted) return;
    this.#flight = undefined;
    const { result } = this.#state;
    this.#takeIn(outcome, clock.now() - began);
    const again = this.#again;
    if (this.#mayProbe()) {
      this.#again = false;
      const next = nextAttempt(anchor, definition.settings.periodMs, began, clock.now());
      this.#attemptAt(again && this.#state.result !== 'success' ? this.#now() : next);
    } else this.stop();
    onOutcome(definition, outcome, result);
  }

  #takeIn(outcome: Outcome, tookMs: number): void {
    if (outcome.kind === 'lost') return;
    if (outcome.kind === 'errored') {
      this.counts.unknown += 1;
      return;
    }
    const verdict = outcome.attempt.result === 'failure' ? 'failure' : 'success';
    if (verdict === 'success') this.seconds.observe({}, tookMs / 1000);
    this.counts[verdict === 'success' ? 'successful' : 'failed'] += 1;
    this.#state = conclude(this.#definition.kind, this.#state, verdict, this.#definition.settings);
  }

  #mayProbe(): boolean {
    return mayProbe(this.#definition.kind, this.#state, this.#context);
  }

  #now(): Schedule {
    const now = this.#options.clock.now();
    return { anchor: now, at: now };
  }
}
