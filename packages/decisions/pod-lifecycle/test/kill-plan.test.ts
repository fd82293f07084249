import type { Pod, RuntimeContainer } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ANNOTATION, graceLeftMs, killPlan, readStopAnnotations, stopTimeout } from '../src/index.ts';
import { exited, pod, run } from './states.ts';

const preStop = { exec: { command: ['sh', '-c', 'bye'] } };
const probe = { exec: { command: ['true'] }, terminationGracePeriodSeconds: 7 };
const container = {
  name: 'c',
  image: 'busybox',
  livenessProbe: probe,
  startupProbe: { ...probe, terminationGracePeriodSeconds: 3 },
};
const stops = (...containers: RuntimeContainer[]) => containers.map((one) => ({ container: one }));

describe('the grace period of a container', () => {
  const of = pod({ containers: [container], terminationGracePeriodSeconds: 20 });
  const deleted = pod(of.spec, { deletionGracePeriodSeconds: 12 });
  const without = pod({ containers: [container] });

  test.each<[string, Pod | undefined, 'startupProbe' | 'livenessProbe' | 'other', number | undefined, number]>([
    ['is the pod’s', of, 'other', undefined, 20],
    ['is the liveness probe’s own', of, 'livenessProbe', undefined, 7],
    ['is the startup probe’s own', of, 'startupProbe', undefined, 3],
    ['is the deletion’s before any other', deleted, 'livenessProbe', undefined, 12],
    ['is the minimum for a pod without one', without, 'livenessProbe', undefined, 2],
    ['is an override instead of any other', deleted, 'other', 60, 60],
    ['none', deleted, 'other', 0, 0],
    ['is the minimum for an unknown container', undefined, 'other', undefined, 2],
  ])('%s', (_title, one, reason, graceOverrideSeconds, expected) => {
    const stop = { container: run(), message: 'm', reason };
    expect(killPlan({ pod: one, stops: [stop], graceOverrideSeconds, ordered: false })).toMatchObject([
      { graceSeconds: expected, event: { message: 'm' } },
    ]);
  });

  test.each([
    [30, 0, 30],
    [30, 12_900, 18],
    [30, 40_000, 2],
    [1, 0, 2],
    [0, 0, 2],
  ])('of %i s leaves after %i ms %i s for the stop', (grace, elapsed, timeout) => {
    expect(stopTimeout(grace, elapsed)).toBe(timeout);
  });

  test.each([
    [5, 1_500, 3_500],
    [5, 6_000, 0],
  ])('of %i s leaves after %i ms %i ms to wait', (grace, elapsed, left) =>
    expect(graceLeftMs(grace, elapsed)).toBe(left),
  );
});

describe('killPlan', () => {
  test('runs the handler, unless the grace period is too short', () => {
    const of = pod({ containers: [{ name: 'c', lifecycle: { preStop } }], terminationGracePeriodSeconds: 5 });
    const plan = (graceOverrideSeconds?: number) =>
      killPlan({ pod: of, stops: stops(run()), graceOverrideSeconds, ordered: false });
    expect(plan()).toMatchObject([
      { preStop, event: { message: 'Stopping container c', fieldPath: 'spec.containers{c}' } },
    ]);
    expect(plan(0)[0]?.preStop).toBeUndefined();
  });

  test('omits containers that cannot be running', () => {
    const list = stops(exited(0), run({ name: 'd', state: 'created' }), run({ name: 'e', state: 'unknown' }));
    expect(killPlan({ pod: pod(), stops: list, ordered: false }).map(({ container: { name } }) => name)).toEqual(['e']);
  });

  const sided = pod({
    initContainers: [{ name: 's1', restartPolicy: 'Always' }, { name: 'i' }, { name: 's2', restartPolicy: 'Always' }],
    containers: [{ name: 'a' }, { name: 'b' }],
    ephemeralContainers: [{ name: 'e' }],
  });

  test('stops sidecars after the regular containers and in reverse order', () => {
    const list = stops(...['a', 'b', 'e', 'i', 's1', 's2'].map((name) => run({ name })));
    const turns = Object.fromEntries(
      killPlan({ pod: sided, stops: list, ordered: true }).map((one) => [one.container.name, one.waitsFor]),
    );
    expect(turns).toEqual({ a: [], b: [], e: [], i: [], s1: ['a-0', 'b-0', 's2-0'], s2: ['a-0', 'b-0'] });
  });

  test('waits neither for containers that are not running, nor when a single container is replaced', () => {
    const list = stops(exited(0, { name: 'a' }), run({ name: 's1' }));
    expect(killPlan({ pod: sided, stops: list, ordered: true })[0]?.waitsFor).toEqual([]);
    const both = stops(run({ name: 'a' }), run({ name: 's1' }));
    expect(killPlan({ pod: sided, stops: both, ordered: false }).flatMap((one) => one.waitsFor)).toEqual([]);
  });

  test('sets the field path of events to the container’s list', () => {
    const list = stops(...['a', 'e', 'i'].map((name) => run({ name })));
    expect(killPlan({ pod: sided, stops: list, ordered: true }).map((one) => one.event.fieldPath)).toEqual([
      'spec.containers{a}',
      'spec.ephemeralContainers{e}',
      'spec.initContainers{i}',
    ]);
  });

  test('always contains a container that waits for no other, so that every plan can be executed', () => {
    const names = fc.subarray(['a', 'b', 'e', 'i', 's1', 's2']);
    fc.assert(
      fc.property(names, (chosen) => {
        let left = killPlan({ pod: sided, stops: stops(...chosen.map((name) => run({ name }))), ordered: true });
        while (left.length > 0) {
          const ids = new Set(left.map((one) => one.container.id));
          const next = left.filter(({ waitsFor }) => waitsFor.some((id) => ids.has(id)));
          expect(next.length).toBeLessThan(left.length);
          left = next;
        }
      }),
    );
  });
});

describe('a container without a spec', () => {
  const annotations = {
    [ANNOTATION.preStopHandler]: JSON.stringify({ httpGet: { path: '/bye', port: 'web' } }),
    [ANNOTATION.ports]: JSON.stringify([{ name: 'web', containerPort: 8080 }]),
    [ANNOTATION.terminationGracePeriod]: '30',
    [ANNOTATION.terminationMessagePath]: '/dev/termination-log',
    [ANNOTATION.terminationMessagePolicy]: 'File',
  };

  test('is stopped according to its annotations', () => {
    const [plan] = killPlan({ pod: undefined, stops: stops(run({ annotations })), ordered: true });
    expect(plan).toMatchObject({
      graceSeconds: 30,
      preStop: { httpGet: { path: '/bye', port: 'web' } },
      spec: { name: 'c', ports: [{ name: 'web', containerPort: 8080 }] },
    });
  });

  test('uses a deletion’s grace period first, and an orphan’s override before both', () => {
    const one = run({ annotations: { ...annotations, [ANNOTATION.deletionGracePeriod]: '5' } });
    expect(killPlan({ pod: undefined, stops: stops(one), ordered: false })[0]?.graceSeconds).toBe(5);
    const orphan = killPlan({ pod: undefined, stops: stops(one), graceOverrideSeconds: 1, ordered: false });
    expect(orphan[0]?.graceSeconds).toBe(1);
  });

  test('is also one that is not in the pod’s spec', () => {
    const one = run({ name: 'x', annotations });
    const [plan] = killPlan({ pod: pod({ terminationGracePeriodSeconds: 4 }), stops: stops(one), ordered: false });
    expect(plan).toMatchObject({ graceSeconds: 4, preStop: { httpGet: { path: '/bye' } } });
  });

  test.each([
    [ANNOTATION.preStopHandler, 'no json'],
    [ANNOTATION.preStopHandler, '{"exec":3}'],
    [ANNOTATION.ports, '{}'],
    [ANNOTATION.terminationGracePeriod, 'soon'],
    [ANNOTATION.deletionGracePeriod, '-1'],
  ])('ignores invalid annotations: %s %s', (key, text) => {
    expect(readStopAnnotations(run({ annotations: { [key]: text } }))).toEqual({
      container: { name: 'c' },
      deletionGraceSeconds: undefined,
      terminationGraceSeconds: undefined,
    });
  });
});
