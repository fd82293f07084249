import type { Pod } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import { type PodActionsOptions, podActions } from '../src/index.ts';
import { exited, pod, run, runtime, sandbox } from './states.ts';
import { nothing, summary } from './summary.ts';

const two: Partial<Pod['spec']> = {
  containers: [
    { name: 'a', image: 'busybox' },
    { name: 'b', image: 'busybox' },
  ],
};
const failing = (kind: 'startup' | 'liveness', id: string): PodActionsOptions => ({
  probes: { startup: new Map(), liveness: new Map(), readiness: new Map(), [kind]: new Map([[id, 'failure']]) },
});

describe('a running container is replaced', () => {
  test.each([
    ['liveness', 'Always', 'Container a failed liveness probe, will be restarted', 'livenessProbe', ['a#1']],
    ['liveness', 'OnFailure', 'Container a failed liveness probe, will be restarted', 'livenessProbe', ['a#1']],
    ['liveness', 'Never', 'Container a failed liveness probe', 'livenessProbe', []],
    ['startup', 'Always', 'Container a failed startup probe, will be restarted', 'startupProbe', ['a#1']],
    ['startup', 'Never', 'Container a failed startup probe', 'startupProbe', []],
  ] as const)('because its %s probe failed, policy %s', (kind, restartPolicy, message, reason, start) => {
    const state = runtime([run({ name: 'a' }), run({ name: 'b' })]);
    const actions = podActions(pod({ ...two, restartPolicy }), state, failing(kind, 'a-0'));
    expect(actions.stop).toMatchObject([{ container: { id: 'a-0' }, message, reason }]);
    expect(summary(actions)).toEqual({ ...nothing, stop: ['a-0'], start });
  });

  test('by its own policy before the pod’s, and its rules do not apply without an exit code', () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'NotIn', values: [0] } };
    const containers = [{ name: 'a', image: 'busybox', restartPolicy: 'Never', restartPolicyRules: [rule] }];
    const of = pod({ containers: [...containers, { name: 'b', image: 'busybox' }], restartPolicy: 'Always' });
    const state = runtime([run({ name: 'a' }), run({ name: 'b' })]);
    expect(podActions(of, state, failing('liveness', 'a-0')).start).toEqual([]);
  });

  test('unless it is the last one and must not be restarted, which ends the pod', () => {
    const actions = podActions(pod({ restartPolicy: 'Never' }), runtime([run()]), failing('liveness', 'c-0'));
    expect(summary(actions)).toEqual({ ...nothing, kill: true });
  });

  test('because of a resize whose policy requires it', () => {
    const options = { resizeRestarts: new Set(['c-0']) };
    const actions = podActions(pod({ restartPolicy: 'Never' }), runtime([run()]), options);
    const message = 'Container c resize requires restart';
    expect(actions.stop).toMatchObject([{ message, reason: 'other' }]);
    expect(summary(actions).start).toEqual(['c#1']);
  });

  test('not because of a probe result of an earlier run', () => {
    const state = runtime([run({ attempt: 1 }), exited(137)]);
    expect(summary(podActions(pod(), state, failing('liveness', 'c-0')))).toEqual(nothing);
  });

  test('after a back-off, when there was a run before it', () => {
    const again = podActions(pod(), runtime([run({ attempt: 1 }), exited(137)]), failing('liveness', 'c-1'));
    expect(again.start).toMatchObject([{ attempt: 2, previous: { id: 'c-0' } }]);
    const first = podActions(pod(), runtime([run()]), failing('liveness', 'c-0'));
    expect(first.start).toMatchObject([{ attempt: 1, previous: undefined }]);
  });
});

describe('an ephemeral container', () => {
  const debug = { name: 'e', image: 'busybox' };

  test.each([
    ['starts next to running containers', [run()], ['e#0']],
    ['is started when it was created', [run(), run({ name: 'e', state: 'created' })], ['e#0 created']],
    ['is not changed while it is running', [run(), run({ name: 'e' })], []],
    ['never starts again', [run(), exited(1, { name: 'e' })], []],
  ])('%s', (_title, state, start) => {
    expect(summary(podActions(pod({ ephemeralContainers: [debug] }), runtime(state))).start).toEqual(start);
  });

  test('does not wait for init containers', () => {
    const of = pod({ ephemeralContainers: [debug], initContainers: [{ name: 'i', image: 'busybox' }] });
    expect(summary(podActions(of, runtime([]))).start).toEqual(['e#0', 'i#0']);
    expect(summary(podActions(of, runtime([run({ name: 'i' })]))).start).toEqual(['e#0']);
  });

  test('never starts again when only its log is left', () => {
    const options = { logIndexes: new Map([['e', 0]]) };
    expect(summary(podActions(pod({ ephemeralContainers: [debug] }), runtime([run()]), options)).start).toEqual([]);
  });

  test('does not keep a pod running that has finished its work', () => {
    const of = pod({ ephemeralContainers: [debug], restartPolicy: 'Never' });
    expect(summary(podActions(of, runtime([exited(0), run({ name: 'e' })])))).toEqual({ ...nothing, kill: true });
  });
});

describe('attempts, unknownContainers and deletion', () => {
  test('the attempt is taken from the log files when the runtime lists none', () => {
    const options = { logIndexes: new Map([['a', 4]]) };
    expect(summary(podActions(pod(two), runtime([]), options)).start).toEqual(['a#5', 'b#0']);
    expect(summary(podActions(pod(two), runtime([exited(1, { name: 'a' })]), options)).start).toEqual(['a#1', 'b#0']);
  });

  test('a container that is not in the spec is stopped, then removed', () => {
    const state = runtime([run(), run({ name: 'x' }), exited(0, { name: 'y' })]);
    expect(summary(podActions(pod(), state))).toEqual({ ...nothing, stop: ['x-0'], remove: ['y-0'] });
  });

  test.each([true, false])('a pod that is being deleted starts nothing, sandbox ready: %s', (ready) => {
    const of = pod(
      {
        initContainers: [{ name: 's', image: 'busybox', restartPolicy: 'Always' }],
        ephemeralContainers: [{ name: 'e' }],
      },
      { deletionTimestamp: '2030-01-01T00:00:00Z' },
    );
    const actions = podActions(of, runtime([exited(1), exited(1, { name: 's' })], [sandbox({ ready })]));
    expect(actions.start).toEqual([]);
    expect(actions.createSandbox).toBeUndefined();
  });

  test('a sandbox is kept when the runtime does not report its network mode', () => {
    const { hostNetwork: _unknown, ...silent } = sandbox();
    expect(summary(podActions(pod(), runtime([run()], [silent])))).toEqual(nothing);
  });
});

describe('restarting all containers', () => {
  const all = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
  const of = pod({
    restartPolicy: 'Never',
    initContainers: [
      { name: 'i', image: 'busybox' },
      { name: 's', image: 'busybox', restartPolicy: 'Always' },
    ],
    containers: [
      { name: 'a', image: 'busybox', restartPolicyRules: all },
      { name: 'b', image: 'busybox' },
    ],
    ephemeralContainers: [{ name: 'e', image: 'busybox' }],
  });
  const state = [
    exited(42, { name: 'a', attempt: 1 }),
    exited(1, { name: 'a' }),
    run({ name: 'b' }),
    exited(0, { name: 'i' }),
    run({ name: 's' }),
    run({ name: 'e' }),
  ];

  test('removes every container, the last one first and the cause after all others', () => {
    const actions = podActions(of, runtime(state), { restartAllContainers: true });
    expect(actions.restartAll).toBe(true);
    expect(summary(actions)).toEqual({
      ...nothing,
      stop: ['b-0', 's-0'],
      remove: ['b-0', 's-0', 'i-0', 'a-0', 'a-1'],
    });
  });

  test('continues where it was interrupted', () => {
    const actions = podActions(of, runtime([exited(42, { name: 'a', attempt: 1 })]), { restartAllContainers: true });
    expect(summary(actions)).toEqual({ ...nothing, remove: ['a-1'] });
  });

  test('then starts with the first init container, with increasing attempts', () => {
    const logIndexes = new Map([
      ['i', 0],
      ['a', 1],
    ]);
    const actions = podActions(of, runtime([]), { restartAllContainers: true, logIndexes });
    expect(summary(actions).start).toEqual(['e#0', 'i#1']);
  });

  test('restarts only the container without the feature gate', () => {
    const { restartAll, start } = podActions(of, runtime(state));
    expect(restartAll).toBe(false);
    expect(start.map(({ container, attempt }) => `${container.name}#${attempt}`)).toEqual(['a#2']);
  });

  test.each([
    ['another exit code', exited(1, { name: 'a' })],
    ['a run in an older sandbox', exited(42, { name: 'a', sandboxId: 'old' })],
  ])('is not caused by %s', (_title, newest) => {
    expect(podActions(of, runtime([newest]), { restartAllContainers: true }).restartAll).toBe(false);
  });
});
