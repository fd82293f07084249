import type { Container, Pod } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { containersOf, restartsAfter } from '../src/index.ts';
import { PodModel } from './pod-model.ts';
import { pod } from './states.ts';

const EXIT_CODES = [0, 1, 42, 137];
const policies = ['Always', 'OnFailure', 'Never'];

const rules = fc.constantFrom<Container['restartPolicyRules']>(
  undefined,
  [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
  [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
);
const probe = { exec: { command: ['true'] } };
const sidecar = fc.record({ restartPolicy: fc.constant('Always'), startupProbe: fc.constantFrom(undefined, probe) });
const plain = fc.record({ restartPolicyRules: rules });
const regular = fc.record({ restartPolicy: fc.constantFrom(undefined, ...policies), restartPolicyRules: rules });

const named = (prefix: string, list: Partial<Container>[]): Container[] =>
  list.map((one, index) => ({ ...one, name: `${prefix}${index}`, image: 'busybox' }));

const pods: fc.Arbitrary<Pod> = fc
  .record({
    init: fc.array(fc.oneof(sidecar, plain), { maxLength: 4 }),
    containers: fc.array(regular, { minLength: 1, maxLength: 3 }),
    ephemeral: fc.boolean(),
    restartPolicy: fc.constantFrom(...policies),
  })
  .map(({ init, containers, ephemeral, restartPolicy }) =>
    pod({
      restartPolicy,
      initContainers: named('i', init),
      containers: named('c', containers),
      ...(ephemeral && { ephemeralContainers: named('e', [{}]) }),
    }),
  );

type Event =
  | { readonly what: 'pass'; readonly most: number }
  | { readonly what: 'exit'; readonly pick: number; readonly exitCode: number }
  | { readonly what: 'probe'; readonly pick: number; readonly kind: 'startup' | 'liveness'; readonly passed: boolean }
  | { readonly what: 'image' | 'lose' | 'collect'; readonly pick: number }
  | { readonly what: 'sandbox' };

const pick = fc.nat(20);
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('pass' as const), most: fc.constantFrom(1, 2, 3, 5, 99) }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('exit' as const), pick, exitCode: fc.constantFrom(...EXIT_CODES) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('probe' as const),
      pick,
      kind: fc.constantFrom('startup' as const, 'liveness' as const),
      passed: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constantFrom('image' as const, 'lose' as const, 'collect' as const), pick }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('sandbox' as const) }) },
);

function happen(model: PodModel, one: Event): void {
  const chosen = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];
  switch (one.what) {
    case 'pass':
      model.pass(one.most);
      return;
    case 'sandbox':
      model.killSandbox();
      return;
    case 'image': {
      const name = chosen(containersOf(model.pod), one.pick)?.container.name;
      const changed = (list: Container[] = []) =>
        list.map((container) =>
          container.name === name ? { ...container, image: `${container.image ?? ''}x` } : container,
        );
      const { spec } = model.pod;
      model.pod = {
        ...model.pod,
        spec: { ...spec, containers: changed(spec.containers), initContainers: changed(spec.initContainers) },
      };
      return;
    }
    case 'collect': {
      // The oldest run of a name is removed first. The run that shows that all containers are being restarted is kept.
      const { containers } = model.runtime;
      const oldest = containers.filter(
        ({ name }, index) => containers.findLastIndex((run) => run.name === name) === index,
      );
      const dead = chosen(oldest, one.pick);
      if (dead !== undefined && dead.exitCode !== 42) model.collect(dead.id);
      return;
    }
    default: {
      const running = chosen(model.running, one.pick);
      if (running === undefined) return;
      if (one.what === 'exit') model.exit(running.id, one.exitCode);
      else if (one.what === 'probe') model.probe(one.kind, running.id, one.passed ? 'success' : 'failure');
      else model.loseState(running.id);
    }
  }
}

/** From here on nothing fails: init containers succeed, probes pass, and containers that may end do so successfully. */
function settle(model: PodModel): void {
  for (let passes = 0; passes < 60; passes++) {
    model.pass();
    for (const { id, name, state } of model.running) {
      const found = containersOf(model.pod).find(({ container }) => container.name === name);
      if (found === undefined || state !== 'running') continue;
      model.probe('startup', id, 'success');
      model.probe('liveness', id, 'success');
      const over = found.kind === 'regular' && !restartsAfter(model.pod, found.container, 0);
      if (found.kind === 'init' || over) model.exit(id, 0);
    }
    if (isIdle(model)) return;
  }
  throw new Error('the pod does not reach a stable state');
}

/** A further sync would do nothing. */
function isIdle(model: PodModel): boolean {
  const { start, stop, remove, createSandbox, restartAll, killPod } = model.decide();
  const removes = remove.containers.length + remove.sandboxes.length > 0;
  const kills = killPod && model.running.length + model.readySandboxes.length > 0;
  return start.length + stop.length === 0 && createSandbox === undefined && !removes && !restartAll && !kills;
}

describe('a pod whose actions are executed', () => {
  test('runs every init container in order and reaches the state in its spec, whatever fails on the way', () => {
    const reached = { running: 0, over: 0 };
    fc.assert(
      fc.property(pods, fc.array(event, { maxLength: 40 }), (of, events) => {
        const model = new PodModel(of);
        for (const one of events) happen(model, one);
        settle(model);
        const last = model.decide();
        expect(last.start).toEqual([]);
        expect(new Set(model.started).size).toBe(model.started.length);
        expect(model.started.filter((one) => one.startsWith('e')).length).toBeLessThanOrEqual(1);
        if (last.killPod) {
          expect(model.running).toEqual([]);
          expect(model.readySandboxes).toEqual([]);
          reached.over += 1;
          return;
        }
        expect(model.readySandboxes.length).toBe(1);
        const alive = model.running.map(({ name }) => name);
        for (const { name } of of.spec.initContainers?.filter((one) => one.restartPolicy === 'Always') ?? []) {
          expect(alive).toContain(name);
        }
        expect(alive.some((name) => name.startsWith('c'))).toBe(true);
        reached.running += 1;
      }),
      { numRuns: 200 },
    );
    expect(Math.min(reached.running, reached.over)).toBeGreaterThan(50);
  });

  test('in a stable state has no further actions', () => {
    fc.assert(
      fc.property(pods, (of) => {
        const model = new PodModel(of);
        settle(model);
        const before = model.runtime;
        model.pass();
        expect(model.runtime).toEqual(before);
        expect(model.started.every((one) => one.endsWith('#0'))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
