import type { PodWork } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type WorkerMachine, gracePeriod, initialMachine, killTimeoutMs, stepWorker } from '../src/index.ts';
import { pod } from './states.ts';

function work(overrides: Partial<PodWork> = {}): PodWork {
  return {
    ref: { namespace: 'default', name: 'p', uid: 'u1' },
    pod: pod(),
    source: 'file',
    work: 'sync',
    reason: 'desired',
    worker: 'pod-workers-0',
    firstSeen: '2030-01-01T00:00:00Z',
    ...overrides,
  };
}

const deleting = (seconds: number) =>
  work({ pod: pod({}, { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: seconds }) });

describe('stepWorker', () => {
  test.each<[string, PodWork, WorkerMachine['state'], boolean]>([
    ['a desired pod is synced', work(), 'syncing', false],
    ['a removed pod is ended and its local state removed', work({ work: 'kill' }), 'terminating', true],
    ['a deleted pod is ended', deleting(5), 'terminating', false],
    ['a pod that has failed is ended', work({ pod: { ...pod(), status: { phase: 'Failed' } } }), 'terminating', false],
    [
      'a pod that has succeeded is ended',
      work({ pod: { ...pod(), status: { phase: 'Succeeded' } } }),
      'terminating',
      false,
    ],
    ['a pending pod is synced', work({ pod: { ...pod(), status: { phase: 'Pending' } } }), 'syncing', false],
  ])('%s', (_name, input, state, forget) => {
    expect(stepWorker(initialMachine, { kind: 'work', work: input })).toMatchObject({ state, forget });
  });

  test('a pod that has ended by itself stays terminated until it is no longer desired', () => {
    let machine = stepWorker(initialMachine, { kind: 'synced', terminal: false });
    expect(machine.state).toBe('syncing');
    for (const state of ['terminating', 'terminated', 'terminated']) {
      machine = stepWorker(machine, { kind: 'synced', terminal: true });
      expect(machine.state).toBe(state);
    }
    machine = stepWorker(machine, { kind: 'work', work: work({ work: 'kill' }) });
    expect(machine).toMatchObject({ state: 'terminated', forget: true });
    expect(stepWorker(machine, { kind: 'synced', terminal: true }).state).toBe('finished');
  });

  test.each<[string, PodWork, WorkerMachine['state']]>([
    ['a pod that has ended is only cleaned up', work({ pod: { ...pod(), status: { phase: 'Failed' } } }), 'terminated'],
    ['a pod that is removed before it has run is only cleaned up', work({ work: 'kill' }), 'terminated'],
    ['a pod that is being deleted is terminated in order', deleting(5), 'terminating'],
    ['a desired pod is synced', work(), 'syncing'],
  ])('when nothing of it is running, %s', (_name, input, state) => {
    expect(stepWorker(initialMachine, { kind: 'work', work: input, idle: true }).state).toBe(state);
  });

  test('a termination that has started is not cut short when nothing is running', () => {
    const ending = stepWorker(initialMachine, { kind: 'work', work: deleting(5) });
    expect(stepWorker(ending, { kind: 'work', work: work({ work: 'kill' }), idle: true }).state).toBe('terminating');
  });

  test('the grace period only decreases', () => {
    let machine = stepWorker(initialMachine, { kind: 'work', work: deleting(30) });
    expect(machine.graceSeconds).toBe(30);
    machine = stepWorker(machine, { kind: 'work', work: deleting(5) });
    expect(machine.graceSeconds).toBe(5);
    machine = stepWorker(machine, { kind: 'work', work: deleting(60) });
    expect(machine.graceSeconds).toBe(5);
  });

  test('states only advance, whatever the input', () => {
    const order = ['syncing', 'terminating', 'terminated', 'finished'];
    const input = fc.oneof(
      fc
        .constantFrom(work(), work({ work: 'kill' }), deleting(3), deleting(40))
        .chain((one) => fc.boolean().map((idle) => ({ kind: 'work' as const, work: one, idle }))),
      fc.boolean().map((terminal) => ({ kind: 'synced' as const, terminal })),
    );
    fc.assert(
      fc.property(fc.array(input, { maxLength: 20 }), (inputs) => {
        let machine = initialMachine;
        for (const one of inputs) {
          const next = stepWorker(machine, one);
          expect(order.indexOf(next.state)).toBeGreaterThanOrEqual(order.indexOf(machine.state));
          expect(next.graceSeconds ?? Infinity).toBeLessThanOrEqual(machine.graceSeconds ?? Infinity);
          expect(next.forget || !machine.forget).toBe(true);
          machine = next;
        }
      }),
    );
  });
});

test.each([
  [pod({ terminationGracePeriodSeconds: 20 }), undefined, 20],
  [pod({ terminationGracePeriodSeconds: 20 }, { deletionGracePeriodSeconds: 7 }), undefined, 7],
  [pod({ terminationGracePeriodSeconds: 20 }), 3, 3],
  [pod({ terminationGracePeriodSeconds: 20 }), 60, 20],
  [pod({ terminationGracePeriodSeconds: 0 }), undefined, 1],
  [pod(), undefined, 30],
  [undefined, undefined, 1],
])('gracePeriod %#', (one, override, seconds) => expect(gracePeriod(one, override)).toBe(seconds));

test.each([
  [1, 10_000],
  [20, 30_000],
])('killTimeoutMs of a grace period of %i s is %i ms', (grace, ms) => expect(killTimeoutMs(grace)).toBe(ms));
