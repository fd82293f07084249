import { describe, expect, test } from '@jest/globals';
import type { ProbeResult } from '@kubus/contracts';
import * as fc from 'fast-check';
import {
  type ProbeKind,
  type ProbeState,
  type ProbedRun,
  type Verdict,
  conclude,
  initialProbe,
  mayProbe,
  observeRun,
  probeKinds,
} from '../src/index.ts';

const running: ProbedRun = { id: 'a', state: 'running', startedAt: 0 };
const context = { run: running, started: true, ending: false };
const once = { successThreshold: 1, failureThreshold: 1 };

function observed(kind: ProbeKind, kept?: ProbeResult): ProbeState {
  return observeRun(kind, initialProbe(kind), context, kept);
}

describe('before the first verdict', () => {
  test.each([
    ['startup', 'unknown'],
    ['liveness', 'success'],
    ['readiness', 'failure'],
  ] as const)('%s has the result %s', (kind, result) => {
    expect(observed(kind)).toEqual({ runId: 'a', result, held: false, streak: undefined });
  });

  test.each([
    ['startup', 'success', true],
    ['startup', 'failure', true],
    ['startup', 'unknown', false],
    ['liveness', 'failure', true],
    ['liveness', 'success', false],
    ['readiness', 'success', false],
    ['readiness', 'failure', false],
  ] as const)('%s continues with a kept %s', (kind, kept, held) => {
    expect(observed(kind, kept)).toEqual({ runId: 'a', result: kept, held, streak: undefined });
  });

  test('a kept result applies only when the run is first observed', () => {
    const later = conclude('readiness', observed('readiness', 'success'), 'failure', once);
    expect(observeRun('readiness', later, context, 'success').result).toBe('failure');
  });
});

describe('whether a container is probed', () => {
  test.each([
    ['a running container', 'liveness', {}, true],
    ['a container that has not started', 'liveness', { started: false }, false],
    ['a container that has not started', 'readiness', { started: false }, false],
    ['a container that has not started', 'startup', { started: false }, true],
    ['a created container', 'readiness', { run: { ...running, state: 'created' } }, false],
    ['a container in unknown state', 'liveness', { run: { ...running, state: 'unknown' } }, false],
    ['an ended container', 'readiness', { run: { ...running, state: 'exited' } }, false],
    ['a container of a pod that is being ended', 'readiness', { ending: true }, true],
    ['a container of a pod that is being ended', 'liveness', { ending: true }, false],
    ['a container of a pod that is being ended', 'startup', { ending: true }, false],
    ['a missing container', 'readiness', { run: undefined }, false],
  ] as const)('%s, %s probe', (_what, kind, change, expected) => {
    const now = { ...context, ...change };
    expect(mayProbe(kind, observeRun(kind, observed(kind), now), now)).toBe(expected);
  });
});

describe('a change of the container', () => {
  test.each(probeKinds)('makes the %s probe fail when it exits', (kind) => {
    const state = observeRun(kind, observed(kind), { ...context, run: { ...running, state: 'exited' } });
    expect(state).toMatchObject({ result: 'failure', held: true });
  });

  test.each(['created', 'unknown'] as const)('changes nothing while it is %s', (state) => {
    const ready = conclude('readiness', observed('readiness'), 'success', once);
    expect(observeRun('readiness', ready, { ...context, run: { ...running, state } })).toEqual(ready);
  });

  test.each(['startup', 'liveness'] as const)('makes the %s probe succeed when its pod is being ended', (kind) => {
    const failing = conclude(kind, observed(kind), 'failure', { successThreshold: 1, failureThreshold: 2 });
    expect(observeRun(kind, failing, { ...context, ending: true })).toMatchObject({ result: 'success', held: true });
  });

  test('does not change a failure when the pod is being ended', () => {
    const failed = conclude('liveness', observed('liveness'), 'failure', once);
    expect(observeRun('liveness', failed, { ...context, ending: true }).result).toBe('failure');
  });

  test('changes nothing if the runtime does not list it', () => {
    const ready = conclude('readiness', observed('readiness'), 'success', once);
    expect(observeRun('readiness', ready, { ...context, run: undefined })).toEqual(ready);
  });
});

type Step = Verdict | 'replace' | 'exit' | 'end';

/** The same in another way: computed from all verdicts of the run. */
class Model {
  readonly #kind: ProbeKind;
  readonly #thresholds: Readonly<Record<Verdict, number>>;
  #verdicts: Verdict[] = [];
  #exited = false;
  #ending = false;

  constructor(kind: ProbeKind, thresholds: Readonly<Record<Verdict, number>>) {
    this.#kind = kind;
    this.#thresholds = thresholds;
  }

  step(step: Step): void {
    if (step === 'replace') {
      this.#verdicts = [];
      this.#exited = false;
    } else if (step === 'exit') this.#exited = true;
    else if (step === 'end') this.#ending = true;
    else if (this.probed) this.#verdicts.push(step);
  }

  get probed(): boolean {
    return !this.#exited && !(this.#ending && this.#kind !== 'readiness') && !this.#final;
  }

  get result(): ProbeResult {
    const found = this.#found;
    if (this.#final && found !== undefined) return found;
    if (this.#exited) return 'failure';
    if (this.#ending && this.#kind !== 'readiness') return 'success';
    return (
      found ?? { startup: 'unknown' as const, liveness: 'success' as const, readiness: 'failure' as const }[this.#kind]
    );
  }

  get #final(): boolean {
    const found = this.#found;
    return this.#kind === 'startup' ? found !== undefined : this.#kind === 'liveness' && found === 'failure';
  }

  /** The last verdict that ends a sufficiently long streak. */
  get #found(): Verdict | undefined {
    const longEnough = (verdict: Verdict, index: number): boolean => {
      const row = this.#verdicts.slice(0, index + 1).slice(-this.#thresholds[verdict]);
      return row.length === this.#thresholds[verdict] && row.every((one) => one === verdict);
    };
    return this.#verdicts.filter(longEnough).at(-1);
  }
}

test('every history has the same result as computing it from all verdicts', () => {
  // An exited container of a pod that is being ended has two results, in the order in which they were observed; one suffices here.
  const steps = fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom<Step>('success', 'failure') },
      { weight: 1, arbitrary: fc.constantFrom<Step>('replace', 'exit') },
    ),
    { maxLength: 40 },
  );
  const threshold = fc.integer({ min: 1, max: 4 });
  fc.assert(
    fc.property(
      fc.constantFrom(...probeKinds),
      steps,
      fc.boolean(),
      threshold,
      threshold,
      (kind, history, ends, success, failure) => {
        const settings = { successThreshold: success, failureThreshold: failure };
        const model = new Model(kind, { success, failure });
        let run = running;
        let ending = false;
        let state = observed(kind);
        for (const step of ends ? [...history, 'end' as const] : history) {
          model.step(step);
          if (step === 'replace') run = { ...running, id: `${run.id}'` };
          else if (step === 'exit') run = { ...run, state: 'exited' };
          else if (step === 'end') ending = true;
          else if (mayProbe(kind, state, { run, started: true, ending })) {
            state = conclude(kind, state, step, settings);
          }
          state = observeRun(kind, state, { run, started: true, ending });
          if (!(ending && run.state === 'exited')) expect(state.result).toBe(model.result);
          expect(mayProbe(kind, state, { run, started: true, ending })).toBe(model.probed);
        }
      },
    ),
    { numRuns: 500 },
  );
});
