import type { Container, RuntimeContainer } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import { type PodActionsOptions, type ProbeResult, podActions } from '../src/index.ts';
import { exited, pod, run, runtime, sandbox } from './states.ts';
import { nothing, summary } from './summary.ts';

const image = 'busybox';
const probe = { exec: { command: ['true'] } };
const init = (name: string, more: Partial<Container> = {}): Container => ({ name, image, ...more });
const side = (name: string, more: Partial<Container> = {}): Container =>
  init(name, { restartPolicy: 'Always', ...more });

const startup = (...results: [string, ProbeResult][]): PodActionsOptions => ({
  probes: { startup: new Map(results), liveness: new Map(), readiness: new Map() },
});
const liveness = (...results: [string, ProbeResult][]): PodActionsOptions => ({
  probes: { startup: new Map(), liveness: new Map(results), readiness: new Map() },
});
const up = (name: string) => run({ name });
const done = (name: string, more: Partial<RuntimeContainer> = {}) => exited(0, { name, ...more });
const failed = (name: string, exitCode = 1) => exited(exitCode, { name });

interface Case {
  readonly title: string;
  readonly inits: Container[];
  readonly state: RuntimeContainer[];
  readonly policy?: string;
  readonly options?: PodActionsOptions;
  readonly expected: Partial<typeof nothing> | { [K in keyof typeof nothing]?: unknown };
}

const three = [init('i1'), init('i2'), init('i3')];
const mixed = [init('i1'), side('s1'), init('i2'), side('s2'), init('i3')];

const cases: Case[] = [
  { title: 'the first init container starts alone', inits: three, state: [], expected: { start: ['i1#0'] } },
  { title: 'nothing else starts while it is running', inits: three, state: [up('i1')], expected: {} },
  {
    title: 'the next one starts after one has succeeded',
    inits: three,
    state: [done('i1')],
    expected: { start: ['i2#0'] },
  },
  {
    title: 'the newest listed one determines the progress, even when earlier ones were removed',
    inits: three,
    state: [done('i2')],
    expected: { start: ['i3#0'] },
  },
  {
    title: 'regular containers start after the last init container',
    inits: three,
    state: [done('i3')],
    expected: { start: ['c#0'] },
  },
  {
    title: 'a failed init container is restarted',
    inits: three,
    state: [failed('i1')],
    policy: 'OnFailure',
    expected: { start: ['i1#1'] },
  },
  {
    title: 'a failed init container ends a pod with the policy Never',
    inits: three,
    state: [failed('i1')],
    policy: 'Never',
    expected: { kill: true },
  },
  {
    title: 'a failed init container is restarted by its own rule',
    inits: [init('i1', { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }] })],
    state: [failed('i1', 42)],
    policy: 'Never',
    expected: { start: ['i1#1'] },
  },
  {
    title: 'an OOM-killed init container has failed, whatever its exit code',
    inits: three,
    state: [done('i1', { reason: 'OOMKilled' })],
    policy: 'Never',
    expected: { kill: true },
  },
  {
    title: 'an init container that was created is only started',
    inits: three,
    state: [run({ name: 'i1', state: 'created' })],
    expected: { start: ['i1#0 created'] },
  },
  {
    title: 'an init container in unknown state is stopped and started again',
    inits: three,
    state: [run({ name: 'i1', state: 'unknown' })],
    expected: { stop: ['i1-0'], start: ['i1#1'] },
  },
  {
    title: 'an init container in unknown state ends a pod with the policy Never',
    inits: three,
    state: [run({ name: 'i1', state: 'unknown' })],
    policy: 'Never',
    expected: { kill: true },
  },
  {
    title: 'a new image does not restart a running init container',
    inits: [init('i1', { image: 'other' })],
    state: [up('i1')],
    expected: {},
  },
  {
    title: 'a new image does not restart an init container that has succeeded',
    inits: [init('i1', { image: 'other' })],
    state: [done('i1'), up('c')],
    expected: {},
  },
  {
    title: 'the end of a regular container does not restart init containers',
    inits: three,
    state: [failed('c')],
    expected: { start: ['c#1'] },
  },
  {
    title: 'runs in an older sandbox do not count in the current one',
    inits: three,
    state: [done('i3', { sandboxId: 'old' })],
    expected: { start: ['i1#0'] },
  },
  {
    title: 'the next init container starts after a sidecar is running',
    inits: mixed,
    state: [up('s1'), done('i1')],
    expected: { start: ['i2#0'] },
  },
  {
    title: 'the next init container starts when the sidecar’s startup probe has passed',
    inits: [side('s1', { startupProbe: probe }), init('i2')],
    state: [up('s1')],
    options: startup(['s1-0', 'success']),
    expected: { start: ['i2#0'] },
  },
  {
    title: 'the next init container does not start before the sidecar’s startup probe has passed',
    inits: [side('s1', { startupProbe: probe }), init('i2')],
    state: [up('s1')],
    options: startup(['s1-0', 'unknown']),
    expected: {},
  },
  {
    title: 'a failed startup probe restarts the sidecar and starts nothing else',
    inits: [side('s1', { startupProbe: probe }), init('i2')],
    state: [up('s1')],
    policy: 'Never',
    options: startup(['s1-0', 'failure']),
    expected: { stop: ['s1-0'], start: ['s1#1'] },
  },
  {
    title: 'a failed liveness probe restarts the sidecar, and the next init container starts',
    inits: [side('s1', { livenessProbe: probe }), init('i2')],
    state: [up('s1')],
    options: liveness(['s1-0', 'failure']),
    expected: { stop: ['s1-0'], start: ['s1#1', 'i2#0'] },
  },
  {
    title: 'a new image restarts the sidecar',
    inits: [side('s1', { image: 'other' })],
    state: [up('s1'), up('c')],
    policy: 'Never',
    expected: { stop: ['s1-0'], start: ['s1#1'] },
  },
  {
    title: 'a resize that requires a restart restarts the sidecar',
    inits: [side('s1')],
    state: [up('s1'), up('c')],
    options: { resizeRestarts: new Set(['s1-0']) },
    expected: { stop: ['s1-0'], start: ['s1#1'] },
  },
  {
    title: 'a sidecar in unknown state is restarted',
    inits: [side('s1')],
    state: [run({ name: 's1', state: 'unknown' }), up('c')],
    policy: 'Never',
    expected: { stop: ['s1-0'], start: ['s1#1'] },
  },
  {
    title: 'an ended sidecar is restarted while a later init container is running, whatever its exit code',
    inits: mixed,
    state: [done('s1'), done('i1'), up('i2')],
    policy: 'Never',
    expected: { start: ['s1#1'] },
  },
  {
    title: 'sidecars and the next init container start in the order of the spec',
    inits: mixed,
    state: [failed('s1'), done('i1'), done('i2')],
    policy: 'Never',
    expected: { start: ['s1#1', 's2#0'] },
  },
  {
    title: 'a removed sidecar is started again once the pod is initialized',
    inits: mixed,
    state: [up('c'), up('s2'), done('i3')],
    expected: { start: ['s1#0'] },
  },
  {
    title: 'regular containers start after a sidecar at the end of the list is running',
    inits: [init('i1'), side('s1')],
    state: [up('s1'), done('i1')],
    expected: { start: ['c#0'] },
  },
  {
    title: 'sidecars start before regular containers when both have ended',
    inits: [side('s1')],
    state: [failed('s1'), failed('c')],
    expected: { start: ['s1#1', 'c#1'] },
  },
  {
    title: 'sidecars do not keep a pod running that has finished its work',
    inits: [side('s1')],
    state: [up('s1'), done('c')],
    policy: 'OnFailure',
    expected: { kill: true },
  },
  {
    title: 'an ended sidecar is not restarted for a pod that has finished its work',
    inits: [side('s1')],
    state: [failed('s1'), failed('c')],
    policy: 'Never',
    expected: { kill: true },
  },
];

describe('init containers and sidecars', () => {
  test.each(cases.map((one) => [one.title, one] as const))('%s', (_title, one) => {
    const { inits, state, policy, options, expected } = one;
    const of = pod({ initContainers: inits, ...(policy !== undefined && { restartPolicy: policy }) });
    expect(summary(podActions(of, runtime(state), options))).toEqual({ ...nothing, ...expected });
  });

  test.each(['Always', 'OnFailure'])(
    'a new sandbox starts with the first init container again, policy %s',
    (restartPolicy) => {
      const state = runtime([up('c'), done('i1', { attempt: 1 }), failed('i1'), up('s1')], [sandbox({ ready: false })]);
      const actions = podActions(pod({ restartPolicy, initContainers: [init('i1'), side('s1')] }), state);
      expect(summary(actions)).toEqual({
        ...nothing,
        kill: true,
        sandbox: 1,
        start: ['i1#2'],
        remove: ['s1-0', 'i1-0', 'i1-1'],
      });
    },
  );

  test('a pod that has not finished its init containers starts again after its sandbox has ended', () => {
    const state = runtime([failed('i1')], [sandbox({ ready: false })]);
    expect(summary(podActions(pod({ initContainers: three }), state))).toMatchObject({ sandbox: 1, start: ['i1#1'] });
  });

  test.each([
    ['Init container s1 failed startup probe', 'startupProbe', startup(['s1-0', 'failure'])],
    [
      'Init container s1 failed liveness probe',
      'livenessProbe',
      { probes: { ...liveness(['s1-0', 'failure']).probes, startup: new Map([['s1-0', 'success']]) } },
    ],
  ] as [string, string, PodActionsOptions][])('a stop has the message: %s', (message, reason, options) => {
    const of = pod({ initContainers: [side('s1', { startupProbe: probe })] });
    expect(podActions(of, runtime([up('s1'), up('c')]), options).stop).toMatchObject([{ message, reason }]);
  });
});
