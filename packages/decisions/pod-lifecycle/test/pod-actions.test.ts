import type { RuntimeContainer, RuntimePod } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { mayRun, podActions } from '../src/index.ts';
import { exited, pod, run, runtime, sandbox } from './states.ts';
import { nothing, summary } from './summary.ts';

const two = {
  containers: [
    { name: 'a', image: 'busybox' },
    { name: 'b', image: 'busybox' },
  ],
};

describe('podActions', () => {
  test.each<[string, Parameters<typeof pod>[0], RuntimePod | undefined, object]>([
    [
      'creates a sandbox and all containers for a new pod',
      two,
      undefined,
      { ...nothing, sandbox: 0, start: ['a#0', 'b#0'] },
    ],
    ['does nothing for a running pod', {}, runtime([run()]), nothing],
    ['starts a missing container', two, runtime([run({ name: 'a' })]), { ...nothing, start: ['b#0'] }],
    ['starts an ended container again with the next attempt', {}, runtime([exited(1)]), { ...nothing, start: ['c#1'] }],
    [
      'only starts a container that was created',
      {},
      runtime([run({ state: 'created' })]),
      { ...nothing, start: ['c#0 created'] },
    ],
    [
      'creates a container again that was created in an older sandbox',
      {},
      runtime([run({ state: 'created', sandboxId: 'old' })]),
      { ...nothing, start: ['c#1'] },
    ],
    [
      'replaces a container with a changed image',
      { containers: [{ name: 'c', image: 'other' }] },
      runtime([run()]),
      { ...nothing, stop: ['c-0'], start: ['c#1'] },
    ],
    [
      'stops a container in unknown state and starts it again',
      {},
      runtime([run({ state: 'unknown' })]),
      { ...nothing, stop: ['c-0'], start: ['c#1'] },
    ],
    [
      'ends a pod that has finished its work',
      { restartPolicy: 'Never' },
      runtime([exited(0)]),
      { ...nothing, kill: true },
    ],
    [
      'replaces an ended sandbox and starts its containers again',
      {},
      runtime([exited(137)], [sandbox({ ready: false })]),
      { ...nothing, kill: true, sandbox: 1, start: ['c#1'] },
    ],
    [
      'starts a container that is still running in an ended sandbox again in the new one',
      {},
      runtime([run()], [sandbox({ ready: false })]),
      { ...nothing, kill: true, sandbox: 1, start: ['c#1'] },
    ],
    [
      'creates no second sandbox for a pod with the policy Never that has run',
      { restartPolicy: 'Never' },
      runtime([exited(1)], [sandbox({ ready: false })]),
      { ...nothing, kill: true },
    ],
    [
      'does not restart succeeded containers with OnFailure when the sandbox changes',
      { ...two, restartPolicy: 'OnFailure' },
      runtime([exited(0, { name: 'a' }), exited(1, { name: 'b' })], [sandbox({ ready: false })]),
      { ...nothing, kill: true, sandbox: 1, start: ['b#1'] },
    ],
    [
      'creates no new sandbox with OnFailure when nothing is left to do',
      { restartPolicy: 'OnFailure' },
      runtime([exited(0)], [sandbox({ ready: false })]),
      { ...nothing, kill: true },
    ],
    [
      'replaces a sandbox without an address',
      {},
      runtime([], [sandbox({ ips: [] })]),
      { ...nothing, kill: true, sandbox: 1, start: ['c#0'] },
    ],
    [
      'keeps a sandbox without an address in the host’s network',
      { hostNetwork: true },
      runtime([run()], [sandbox({ ips: [], hostNetwork: true })]),
      nothing,
    ],
    [
      'replaces two sandboxes that are running at once',
      {},
      runtime([run()], [sandbox({ id: 's1', attempt: 1 }), sandbox()]),
      { ...nothing, kill: true, sandbox: 2, start: ['c#1'] },
    ],
    [
      'removes all ended runs except the newest, and sandboxes without kept containers',
      {},
      runtime(
        [
          run({ attempt: 3, sandboxId: 's2' }),
          exited(1, { attempt: 2, sandboxId: 's2' }),
          exited(1, { attempt: 1, sandboxId: 's1' }),
        ],
        [sandbox({ id: 's2', attempt: 2 }), sandbox({ id: 's1', attempt: 1, ready: false })],
      ),
      { ...nothing, remove: ['c-1', 's1'] },
    ],
    [
      'removes a container that was never started when there is a newer one, and keeps the last one that has ended',
      {},
      runtime([
        run({ attempt: 3 }),
        run({ attempt: 2, state: 'created' }),
        exited(1, { attempt: 1 }),
        run({ state: 'created' }),
      ]),
      { ...nothing, remove: ['c-2', 'c-0'] },
    ],
  ])('%s', (_name, spec, state, expected) => {
    const { remove, ...rest } = summary(podActions(pod(spec), state));
    expect({ ...rest, remove }).toEqual(expected);
  });

  test('never skips or repeats an attempt that the runtime lists, and keeps unchanged running containers', () => {
    const state = fc.constantFrom<RuntimeContainer['state']>('created', 'running', 'exited', 'unknown');
    const runs = fc.array(fc.record({ state, exitCode: fc.constantFrom(0, 1) }), { maxLength: 4 });
    const policy = fc.constantFrom('Always', 'OnFailure', 'Never');
    fc.assert(
      fc.property(fc.tuple(runs, runs), policy, fc.boolean(), ([a, b], restartPolicy, ready) => {
        const build = (name: string, list: typeof a) =>
          list.map((one, index) => run({ ...one, name, attempt: list.length - 1 - index }));
        const containers = [...build('a', a), ...build('b', b)];
        const actions = podActions(pod({ ...two, restartPolicy }), runtime(containers, [sandbox({ ready })]));
        for (const start of actions.start) {
          const known = containers.filter(({ name }) => name === start.container.name).length;
          expect(start.attempt).toBe(start.created === undefined ? known : known - 1);
        }
        const touched = new Set(actions.start.map(({ container }) => container.name));
        for (const name of ['a', 'b']) {
          const newest = containers.find((one) => one.name === name);
          if (ready && newest?.state === 'running') expect(touched.has(name)).toBe(false);
        }
        for (const one of actions.remove.containers) expect(mayRun(one)).toBe(false);
      }),
    );
  });
});
