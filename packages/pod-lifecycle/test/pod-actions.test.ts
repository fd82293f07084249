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
    ['a new pod gets a sandbox and all containers', two, undefined, { ...nothing, sandbox: 0, start: ['a#0', 'b#0'] }],
    ['a running pod needs nothing', {}, runtime([run()]), nothing],
    ['a container that is missing is started', two, runtime([run({ name: 'a' })]), { ...nothing, start: ['b#0'] }],
    [
      'one that ended is started again under the next attempt',
      {},
      runtime([exited(1)]),
      { ...nothing, start: ['c#1'] },
    ],
    [
      'one that was made is only started',
      {},
      runtime([run({ state: 'created' })]),
      { ...nothing, start: ['c#0 made'] },
    ],
    [
      'one that was made in an older sandbox is made anew',
      {},
      runtime([run({ state: 'created', sandboxId: 'old' })]),
      { ...nothing, start: ['c#1'] },
    ],
    [
      'a changed image replaces the container',
      { containers: [{ name: 'c', image: 'other' }] },
      runtime([run()]),
      { ...nothing, stop: ['c-0'], start: ['c#1'] },
    ],
    [
      'one in unknown state is stopped and started again',
      {},
      runtime([run({ state: 'unknown' })]),
      { ...nothing, stop: ['c-0'], start: ['c#1'] },
    ],
    ['a pod whose work is done is ended', { restartPolicy: 'Never' }, runtime([exited(0)]), { ...nothing, kill: true }],
    [
      'a dead sandbox is replaced and its containers start again',
      {},
      runtime([exited(137)], [sandbox({ ready: false })]),
      { ...nothing, kill: true, sandbox: 1, start: ['c#1'] },
    ],
    [
      'a container that still runs in a dead sandbox starts again in the new one',
      {},
      runtime([run()], [sandbox({ ready: false })]),
      { ...nothing, kill: true, sandbox: 1, start: ['c#1'] },
    ],
    [
      'with Never a pod that ran gets no second sandbox',
      { restartPolicy: 'Never' },
      runtime([exited(1)], [sandbox({ ready: false })]),
      { ...nothing, kill: true },
    ],
    [
      'with OnFailure what succeeded stays so over a sandbox change',
      { ...two, restartPolicy: 'OnFailure' },
      runtime([exited(0, { name: 'a' }), exited(1, { name: 'b' })], [sandbox({ ready: false })]),
      { ...nothing, kill: true, sandbox: 1, start: ['b#1'] },
    ],
    [
      'with OnFailure and nothing left to do there is no new sandbox',
      { restartPolicy: 'OnFailure' },
      runtime([exited(0)], [sandbox({ ready: false })]),
      { ...nothing, kill: true },
    ],
    [
      'a sandbox without an address is replaced',
      {},
      runtime([], [sandbox({ ips: [] })]),
      { ...nothing, kill: true, sandbox: 1, start: ['c#0'] },
    ],
    [
      'one in the host’s network needs none',
      { hostNetwork: true },
      runtime([run()], [sandbox({ ips: [], hostNetwork: true })]),
      nothing,
    ],
    [
      'two sandboxes at once are one too many',
      {},
      runtime([run()], [sandbox({ id: 's1', attempt: 1 }), sandbox()]),
      { ...nothing, kill: true, sandbox: 2, start: ['c#1'] },
    ],
    [
      'all dead runs but the newest go, and sandboxes that hold nothing',
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
      'one that was made and never started goes when there is a newer one, and the last that ended stays',
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

  test('an attempt never skips or repeats what the runtime lists, and what runs unchanged is left alone', () => {
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
