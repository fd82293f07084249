import { CONFIG_SOURCE, type Container, type RuntimeContainer } from '@kubus/contracts';
import { type ProbeResults, noProbeResults } from '@kubus/pod-lifecycle';
import { exited, pod, run, runtime } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { PodStatusInput } from '../src/index.ts';
import { condition, status } from './make-status.ts';

const image = 'busybox';
const probe = { exec: { command: ['true'] } };
const i1: Container = { name: 'i1', image };
const i2: Container = { name: 'i2', image };
const s1: Container = { name: 's1', image, restartPolicy: 'Always' };
const probed: Container = { ...s1, startupProbe: probe };
const up = (name: string) => run({ name });
const done = (name: string) => exited(0, { name });
const failed = (name: string) => exited(1, { name });
const passed: ProbeResults = { ...noProbeResults, startup: new Map([['s1-0', 'success']]) };

type Row = [
  title: string,
  inits: Container[],
  policy: string,
  state: RuntimeContainer[],
  phase: string,
  /** `True`, or the containers that have not finished. */
  initialized: string,
  more?: Partial<PodStatusInput>,
];

const back = new Map([['s1', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);
const rows: Row[] = [
  ['nothing has started', [i1], 'Always', [], 'Pending', '[i1]'],
  ['an init container is running', [i1, i2], 'Always', [up('i1')], 'Pending', '[i1 i2]'],
  ['one init container has succeeded', [i1, i2], 'Always', [done('i1')], 'Pending', '[i2]'],
  ['an init container has failed and is restarted', [i1], 'OnFailure', [failed('i1')], 'Pending', '[i1]'],
  ['an init container has failed permanently', [i1, i2], 'Never', [failed('i1')], 'Failed', '[i1 i2]'],
  ['all init containers have succeeded', [i1, i2], 'Always', [done('i1'), done('i2')], 'Pending', 'True'],
  ['the pod is running', [i1], 'Always', [done('i1'), up('c')], 'Running', 'True'],
  ['an init container of a running pod was removed', [i1], 'Always', [up('c')], 'Running', 'True'],
  ['a sidecar without a probe is running', [s1, i2], 'Always', [up('s1')], 'Pending', '[i2]'],
  ['a sidecar has not started', [probed], 'Always', [up('s1')], 'Pending', '[s1]'],
  ['a sidecar has started', [probed], 'Always', [up('s1')], 'Pending', 'True', { probes: passed }],
  [
    'a sidecar and a regular container are running',
    [probed],
    'Always',
    [up('s1'), up('c')],
    'Running',
    'True',
    { probes: passed },
  ],
  ['a sidecar is replaced in a running pod', [probed], 'Always', [up('s1'), up('c')], 'Running', 'True'],
  ['a sidecar has ended in a running pod', [s1], 'Always', [failed('s1'), up('c')], 'Running', 'True'],
  ['a sidecar waits for its restart', [s1], 'Always', [failed('s1'), up('c')], 'Running', 'True', { waiting: back }],
  ['a sidecar was lost in a running pod', [s1], 'Always', [up('c')], 'Pending', 'True'],
  [
    'a sidecar is running after the regular container has succeeded',
    [s1],
    'Never',
    [up('s1'), done('c')],
    'Running',
    'True',
  ],
  ['all have ended, the sidecar with a failure', [s1], 'Never', [failed('s1'), done('c')], 'Succeeded', 'True'],
  ['all have ended, the regular container with a failure', [s1], 'Never', [done('s1'), failed('c')], 'Failed', 'True'],
  [
    'the pod was ended before it was initialized',
    [s1],
    'Always',
    [exited(137, { name: 's1' })],
    'Pending',
    '[s1]',
    { ending: true },
  ],
  [
    'the pod was ended and all containers have stopped',
    [s1],
    'Always',
    [done('s1'), done('c')],
    'Succeeded',
    'True',
    { ending: true },
  ],
];

describe('phase and condition Initialized', () => {
  test.each(rows)('when %s', (_title, initContainers, restartPolicy, state, phase, initialized, more = {}) => {
    const one = status({ pod: pod({ initContainers, restartPolicy }), runtime: runtime(state), ...more });
    expect(one.phase).toBe(phase);
    const expected =
      initialized === 'True'
        ? { status: 'True' }
        : {
            status: 'False',
            reason: 'ContainersNotInitialized',
            message: `containers with incomplete status: ${initialized}`,
          };
    expect(condition(one, 'Initialized')).toMatchObject(expected);
  });

  test('depend on restart rules and containers’ own policies', () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
    const phase = (container: Partial<Container>, exitCode: number, restartPolicy: string) =>
      status({
        pod: pod({ containers: [{ name: 'c', image, ...container }], restartPolicy }),
        runtime: runtime([exited(exitCode)]),
      }).phase;
    expect(phase({ restartPolicyRules: [rule], restartPolicy: 'Never' }, 42, 'Never')).toBe('Running');
    expect(phase({ restartPolicyRules: [rule], restartPolicy: 'Never' }, 1, 'Always')).toBe('Failed');
    expect(phase({ restartPolicy: 'OnFailure' }, 0, 'Always')).toBe('Succeeded');
    expect(phase({ restartPolicy: 'Always' }, 0, 'Never')).toBe('Running');
  });

  test('are those of the restart policy for a static pod that is being ended', () => {
    const of = pod({}, { annotations: { [CONFIG_SOURCE]: 'file' } });
    expect(status({ pod: of, runtime: runtime([exited(1)]), ending: true }).phase).toBe('Running');
  });
});

describe('readiness of a pod', () => {
  test('depends on its sidecars', () => {
    const of = pod({ initContainers: [{ ...s1, readinessProbe: probe }] });
    const state = runtime([up('s1'), up('c')]);
    const message = 'containers with unready status: [s1]';
    expect(condition(status({ pod: of, runtime: state }), 'Ready')).toMatchObject({ status: 'False', message });
    const readiness = new Map([['s1-0', 'success' as const]]);
    const ready = status({ pod: of, runtime: state, probes: { ...noProbeResults, readiness } });
    expect(condition(ready, 'Ready')?.status).toBe('True');
    expect(ready.initContainerStatuses).toMatchObject([{ name: 's1', ready: true, started: true }]);
  });

  test.each([
    ['without a probe', {}, {}, true, true],
    ['before startup has passed', { startupProbe: probe }, {}, false, false],
    ['after startup has passed', { startupProbe: probe }, { startup: true }, true, true],
    ['before readiness has passed', { readinessProbe: probe }, {}, true, false],
    ['after readiness has passed', { readinessProbe: probe }, { readiness: true }, true, true],
    [
      'after readiness, but not startup, has passed',
      { startupProbe: probe, readinessProbe: probe },
      { readiness: true },
      false,
      false,
    ],
  ])('depends on probes: %s', (_title, probes, results: { startup?: boolean; readiness?: boolean }, started, ready) => {
    const of = pod({ containers: [{ name: 'c', image, ...probes }] });
    const conclusion = (yes: boolean | undefined) =>
      new Map(yes === true ? [['c-0', 'success' as const]] : [['c-9', 'success' as const]]);
    const one = status({
      pod: of,
      runtime: runtime([run()]),
      probes: { liveness: new Map(), startup: conclusion(results.startup), readiness: conclusion(results.readiness) },
    });
    expect(one.containerStatuses).toMatchObject([{ started, ready }]);
  });

  test('does not depend on an ephemeral container, which is neither ready nor started', () => {
    const of = pod({
      ephemeralContainers: [
        { name: 'z', image },
        { name: 'e', image },
      ],
    });
    const one = status({ pod: of, runtime: runtime([run(), run({ name: 'e' })]) });
    expect(one.phase).toBe('Running');
    expect(condition(one, 'Ready')?.status).toBe('True');
    expect(one.ephemeralContainerStatuses?.map(({ name }) => name)).toEqual(['e', 'z']);
    expect(one.ephemeralContainerStatuses?.[0]).toMatchObject({ ready: false, state: { running: {} } });
    expect(one.ephemeralContainerStatuses?.[0]?.started).toBeUndefined();
  });
});
