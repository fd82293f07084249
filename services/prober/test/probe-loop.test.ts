import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ProbeResult } from '@kubus/contracts';
import { ManualClock, settled } from '@kubus/ports/testing';
import { AttemptLost, type ProbeContext, type ProbeDefinition, ProbeErrored, type ProbeKind } from '@kubus/probe';
import type { Outcome } from '../src/make-attempt.ts';
import { ProbeLoop } from '../src/probe-loop.ts';

const DAY_S = 86_400;

const success: Outcome = { kind: 'made', attempt: { result: 'success', output: '' }, causes: [] };
const failure: Outcome = { kind: 'made', attempt: { result: 'failure', output: '' }, causes: [] };
const errored: Outcome = { kind: 'errored', error: new ProbeErrored('unknown', 'no') };
const lost: Outcome = { kind: 'lost', error: new AttemptLost(new Error('away')) };

function definition(kind: ProbeKind, settings: Partial<ProbeDefinition['settings']> = {}): ProbeDefinition {
  return {
    ...{ container: { name: 'app' }, kind, probe: {}, fieldPath: 'spec.containers{app}' },
    settings: {
      ...{ initialDelayMs: 0, timeoutMs: 1000, periodMs: 10_000, successThreshold: 1, failureThreshold: 3 },
      ...settings,
    },
  };
}

let clock: ManualClock;
/** Seconds since the start of the test at which attempts started. */
let attempts: number[];
let cancelled: AbortSignal[];
let results: ProbeResult[];
/** The outcomes of the attempts. */
let answer: () => Outcome | Promise<Outcome>;
let beginning: number;

beforeEach(() => {
  clock = new ManualClock();
  beginning = clock.now();
  attempts = [];
  cancelled = [];
  results = [];
  answer = () => success;
});

/** @param proberAge seconds that the prober has been running */
function loopOf(present: ProbeDefinition, { fraction = 0, proberAge = 1000 } = {}): ProbeLoop {
  const loop: ProbeLoop = new ProbeLoop(present, {
    ...{ clock, fraction: () => fraction, proberStartedAt: beginning - proberAge * 1000 },
    make: (_definition, _run, signal) => {
      attempts.push((clock.now() - beginning) / 1000);
      cancelled.push(signal);
      return Promise.resolve(answer());
    },
    onOutcome: () => results.push(loop.state.result),
  });
  return loop;
}

/** @param startedAt seconds from the beginning */
function running(startedAt = 0, id = 'a'): ProbeContext {
  const run = { id, state: 'running' as const, startedAt: beginning + startedAt * 1000 };
  return { run, started: true, ending: false };
}

async function pass(seconds: number): Promise<void> {
  await clock.advance(seconds * 1000);
}

function start(kind: ProbeKind, settings: Partial<ProbeDefinition['settings']> = {}): ProbeLoop {
  const present = definition(kind, settings);
  const loop = loopOf(present);
  loop.update(present, running(), undefined);
  return loop;
}

describe('attempts are made', () => {
  test.each([
    ['readiness', {}, [0, 10, 20]],
    ['liveness', {}, [10, 20]],
    ['readiness', { initialDelayMs: 3000 }, [3, 13, 23]],
    ['liveness', { initialDelayMs: 12_000 }, [20]],
    ['startup', {}, [10]],
  ] as const)('at the right times: %s with %j', async (kind, settings, expected) => {
    start(kind, settings);
    await pass(25);
    expect(attempts).toEqual(expected);
  });

  test('one at a time, and late ones at once', async () => {
    let end: (outcome: Outcome) => void = () => undefined;
    answer = () => new Promise((resolve) => (end = resolve));
    start('readiness');
    await pass(15);
    expect(attempts).toEqual([0]);
    end(success);
    await pass(0);
    expect(attempts).toEqual([0, 15]);
    end(success);
    await pass(5);
    expect(attempts).toEqual([0, 15, 20]);
  });

  test('after an initial delay of months', async () => {
    start('readiness', { initialDelayMs: 90 * DAY_S * 1000 });
    await pass(90 * DAY_S - 1);
    expect(attempts).toEqual([]);
    await pass(1);
    expect(attempts).toEqual([90 * DAY_S]);
  });

  test('within a random part of the period for a container that is older than the prober', async () => {
    const present = definition('readiness');
    const loop = loopOf(present, { fraction: 0.7, proberAge: 1 });
    loop.update(present, running(-100), 'success');
    loop.trigger();
    await pass(20);
    expect(attempts).toEqual([7, 17]);
  });

  test('at once for a container that starts soon after the prober', async () => {
    const present = definition('readiness');
    const loop = loopOf(present, { fraction: 0.7, proberAge: 1 });
    loop.update(present, running(), undefined);
    await pass(0);
    expect(attempts).toEqual([0]);
  });
});

describe('after a failed readiness probe', () => {
  beforeEach(() => {
    answer = () => failure;
  });

  test('a change causes an attempt at once, and one every period from there', async () => {
    const loop = start('readiness');
    await pass(4);
    loop.trigger();
    await pass(10);
    expect(attempts).toEqual([0, 4, 14]);
  });

  test('a change during an attempt causes one more', async () => {
    const loop = start('readiness');
    let end: (outcome: Outcome) => void = () => undefined;
    answer = () => new Promise((resolve) => (end = resolve));
    await pass(0);
    loop.trigger();
    loop.trigger();
    end(failure);
    await settled();
    answer = () => failure;
    await pass(1);
    expect(attempts).toEqual([0, 0]);
  });

  test.each(['liveness', 'startup'] as const)('a change does not affect other probes: %s', async (kind) => {
    const loop = start(kind, { failureThreshold: 9 });
    await pass(12);
    loop.trigger();
    await pass(3);
    expect(attempts).toEqual([10]);
  });
});

test('no timer runs while there is nothing to probe', async () => {
  answer = () => failure;
  const present = definition('liveness', { failureThreshold: 2 });
  const loop = loopOf(present);
  loop.update(present, running(), undefined);
  await pass(60);
  expect(attempts).toEqual([10, 20]);
  expect(results).toEqual(['success', 'failure']);
  expect(clock.waits).toEqual([]);
  loop.update(present, running(60, 'b'), undefined);
  expect(loop.state).toMatchObject({ runId: 'b', result: 'success' });
  await pass(20);
  expect(attempts).toEqual([10, 20, 70, 80]);
});

test.each([
  ['errored', errored],
  ['lost', lost],
])('attempts that were %s are not counted', async (_what, outcome) => {
  const loop = start('liveness', { failureThreshold: 2 });
  const answers = [failure, outcome, outcome, outcome, failure];
  answer = () => answers.shift() ?? success;
  await pass(40);
  expect(loop.state.result).toBe('success');
  await pass(10);
  expect(loop.state.result).toBe('failure');
  const unknown = outcome.kind === 'errored' ? 3 : 0;
  expect(loop.counts).toEqual({ successful: 0, failed: 2, unknown });
});

test.each([
  ['the container was replaced', running(5, 'b')],
  ['the container ended', { ...running(), run: { id: 'a', state: 'exited' as const, startedAt: 0 } }],
  ['the pod ends', { ...running(), ending: true }],
])('an outcome after %s is dropped', async (_what, context) => {
  let end: (outcome: Outcome) => void = () => undefined;
  answer = () => new Promise((resolve) => (end = resolve));
  const present = definition('liveness', { failureThreshold: 1 });
  const loop = loopOf(present);
  loop.update(present, running(), undefined);
  await pass(10);
  loop.update(present, context, undefined);
  const { result } = loop.state;
  expect(cancelled.map(({ aborted }) => aborted)).toEqual([true]);
  end(failure);
  await settled();
  expect(loop.state.result).toBe(result);
  expect(results).toEqual([]);
  expect(loop.counts.failed).toBe(0);
});

test('probing resumes after a time in which the container’s state is unknown', async () => {
  const present = definition('liveness');
  const loop = loopOf(present);
  loop.update(present, running(), undefined);
  await pass(12);
  loop.update(present, { ...running(), run: { id: 'a', state: 'unknown', startedAt: beginning } }, undefined);
  expect(clock.waits).toEqual([]);
  await pass(13);
  loop.update(present, running(), undefined);
  await pass(10);
  expect(attempts).toEqual([10, 30]);
});
