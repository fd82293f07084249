import { exited, pod, run, runtime, sandbox } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LOG_LINES, needsLog, podResourceList, terminationMessage } from '../src/index.ts';
import { NOW, condition, status } from './make-status.ts';

const bytes = (text: string) => new TextEncoder().encode(text).length;

describe('the termination message', () => {
  test.each([
    ['the file', { policy: 'File', exitCode: 1, file: 'why', log: 'out' }, 'why'],
    ['an empty file', { policy: 'File', exitCode: 1, file: '', log: 'out' }, ''],
    ['no file', { policy: undefined, exitCode: 1, file: undefined, log: undefined }, ''],
    [
      'the end of the log after a failure',
      { policy: 'FallbackToLogsOnError', exitCode: 1, file: '', log: 'out\n' },
      'out\n',
    ],
    ['not the log after a success', { policy: 'FallbackToLogsOnError', exitCode: 0, file: '', log: 'out' }, ''],
    [
      'not the log when there is a file',
      { policy: 'FallbackToLogsOnError', exitCode: 1, file: 'why', log: 'out' },
      'why',
    ],
  ])('is %s', (_title, input, expected) => expect(terminationMessage(input)).toBe(expected));

  test('is the last 4096 bytes of a file, without splitting a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1000, maxLength: 3000 }), (file) => {
        const text = terminationMessage({ policy: 'File', exitCode: 0, file, log: undefined });
        expect(file.endsWith(text)).toBe(true);
        expect(bytes(text)).toBeLessThanOrEqual(4096);
        expect(bytes(text)).toBeGreaterThan(Math.min(bytes(file), 4096) - 4);
      }),
    );
  });

  test('is the last 80 lines of a log, with at most 2048 bytes', () => {
    const input = { policy: 'FallbackToLogsOnError', exitCode: 2, file: undefined };
    const short = Array.from({ length: 100 }, (_, index) => `${index}\n`).join('');
    expect(needsLog(input)).toBe(true);
    expect(terminationMessage({ ...input, log: short }).split('\n')[0]).toBe('20');
    expect(terminationMessage({ ...input, log: short }).split('\n')).toHaveLength(LOG_LINES + 1);
    expect(terminationMessage({ ...input, log: 'x'.repeat(5000) })).toHaveLength(2048);
  });

  test('follows the runtime’s message, and shares 12 KiB with the pod’s other containers', () => {
    const details = new Map(
      ['a', 'b', 'c', 'd'].map((name) => [`${name}-0`, { terminationMessage: 'x'.repeat(4096) }]),
    );
    const containers = ['a', 'b', 'c', 'd'].map((name) => ({ name, image: 'busybox' }));
    const ended = containers.map(({ name }) => exited(1, { name, message: name === 'a' ? 'runtime' : '' }));
    const { containerStatuses = [] } = status({ pod: pod({ containers }), runtime: runtime(ended), details });
    const messages = containerStatuses.map(({ state }) => state?.terminated?.message ?? '');
    expect(messages[0]?.startsWith('runtime: xxx')).toBe(true);
    expect(messages.map(bytes)).toEqual([3072, 3072, 3072, 3072]);
  });
});

describe('resources in the status', () => {
  const of = (cpu: string) => ({ resources: { requests: { cpu } } });

  test.each([
    ['of regular containers together', [], [of('100m'), of('0.2')], {}, '300m'],
    ['of an init container that needs more', [of('1')], [of('100m')], {}, '1'],
    [
      'of sidecars together with regular containers',
      [{ ...of('100m'), restartPolicy: 'Always' }],
      [of('100m')],
      {},
      '200m',
    ],
    [
      'of an init container together with earlier sidecars',
      [{ ...of('1'), restartPolicy: 'Always' }, of('2')],
      [of('1')],
      {},
      '3',
    ],
    [
      'of an init container without later sidecars',
      [of('2'), { ...of('1'), restartPolicy: 'Always' }],
      [of('500m')],
      {},
      '2',
    ],
    ['with overhead', [], [of('100m')], { overhead: { cpu: '10m' } }, '110m'],
    ['of the pod level instead', [], [of('100m')], { resources: { requests: { cpu: '2' } } }, '2'],
  ])('are the sum %s', (_title, init, regular, spec, cpu) => {
    const named = (list: object[]) => list.map((one, index) => ({ name: `n${index}`, ...one }));
    const one = pod({ initContainers: named(init), containers: named(regular), ...spec });
    expect(podResourceList(one, 'requests')).toEqual({ cpu });
  });

  test('have no limit from overhead alone', () => {
    expect(podResourceList(pod({ overhead: { cpu: '1' } }), 'limits')).toEqual({});
  });

  test('include devices with their health, and keep them when they are not reported any more', () => {
    const one = pod({ initContainers: [{ name: 'init' }], containers: [{ name: 'c' }, { name: 'other' }] });
    const health = [{ name: 'example.com/device', resources: [{ resourceID: 'a', health: 'Unhealthy' }] }];
    const reported = status({
      pod: one,
      devices: new Map([
        ['c', health],
        ['init', health],
      ]),
    });
    expect(reported.containerStatuses?.map(({ allocatedResourcesStatus }) => allocatedResourcesStatus)).toEqual([
      health,
      undefined,
    ]);
    expect(reported.initContainerStatuses?.[0]).not.toHaveProperty('allocatedResourcesStatus');
    const later = status({ pod: one, previous: reported });
    expect(later.containerStatuses?.[0]?.allocatedResourcesStatus).toEqual(health);
  });

  test('come from the node rather than from the spec', () => {
    const containers = [{ name: 'c', resources: { requests: { cpu: '2' }, limits: { cpu: '4' } } }];
    const plain = status({ pod: pod({ containers }), runtime: runtime([run()]) });
    expect(plain.containerStatuses?.[0]).toMatchObject({
      allocatedResources: { cpu: '2' },
      resources: { requests: { cpu: '2' }, limits: { cpu: '4' } },
    });
    const resources = { requests: { cpu: '1' } };
    const user = { linux: { uid: 1, gid: 2, supplementalGroups: [3] } };
    const details = new Map([['c-0', { allocated: { cpu: '1' }, resources, user, stopSignal: 'SIGUSR1' }]]);
    const podResources = { allocated: { cpu: '1' }, actual: resources };
    const resized = status({ pod: pod({ containers }), runtime: runtime([run()]), details, podResources });
    expect(resized).toMatchObject({ allocatedResources: { cpu: '1' }, resources });
    expect(resized.containerStatuses?.[0]).toMatchObject({
      allocatedResources: { cpu: '1' },
      resources,
      user,
      stopSignal: 'SIGUSR1',
    });
  });
});

describe('volume mounts in the status', () => {
  test.each([
    [undefined, true, 'Disabled'],
    ['Disabled', true, 'Disabled'],
    ['IfPossible', true, 'Enabled'],
    ['IfPossible', false, 'Disabled'],
    ['Enabled', true, 'Enabled'],
    ['Enabled', false, 'Disabled'],
  ])(
    'are recursively read-only if requested: %s and supported: %s',
    (recursiveReadOnly, recursiveReadOnlyMounts, expected) => {
      const volumeMounts = [
        { name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly },
        { name: 'i', mountPath: '/i' },
      ];
      const details = new Map([['c-0', { imageVolumes: new Map([['i', 'sha256:1']]) }]]);
      const one = status({
        pod: pod({ containers: [{ name: 'c', volumeMounts }] }),
        runtime: runtime([run()]),
        recursiveReadOnlyMounts,
        details,
      });
      expect(one.containerStatuses?.[0]?.volumeMounts).toEqual([
        { name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: expected },
        { name: 'i', mountPath: '/i', volumeStatus: { image: { imageRef: 'sha256:1' } } },
      ]);
    },
  );
});

describe('addresses in the status', () => {
  const four = '10.88.0.2';
  const six = 'fd00::2';

  test.each([
    [[six, four], ['10.0.0.1'], [four, six]],
    [
      [four, six, '10.88.0.3'],
      ['fd00::1', '10.0.0.1'],
      [six, four],
    ],
    [[four], ['fd00::1'], [four]],
  ])('of the sandbox %j on the node %j', (ips, hostIps, expected) => {
    const one = status({ runtime: runtime([run()], [sandbox({ ips })]), hostIps });
    expect(one.podIPs?.map(({ ip }) => ip)).toEqual(expected);
    expect(one.podIP).toBe(expected[0]);
    expect(one.hostIPs?.map(({ ip }) => ip)).toEqual(hostIps);
    const alone = status({ runtime: runtime([run()], [sandbox({ ips })]), hostIps, standAlone: true });
    expect([alone.podIPs, alone.hostIP, alone.hostIPs]).toEqual([one.podIPs, undefined, undefined]);
  });

  test('of the host are kept, and a second family is added', () => {
    const of = pod({ hostNetwork: true });
    const before = status({ pod: of, hostIps: ['10.0.0.1'] });
    const moved = status({ pod: of, hostIps: ['10.0.0.9', six], previous: before });
    expect(moved.podIPs).toEqual([{ ip: '10.0.0.1' }, { ip: six }]);
    expect(moved.hostIP).toBe('10.0.0.9');
  });
});

describe('conditions in the status', () => {
  test('have the observed generation', () => {
    const one = status({ pod: pod({}, { generation: 3 }) });
    expect(one.observedGeneration).toBe(3);
    expect(one.conditions?.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
    const fixed = status({ pod: pod({}, { generation: 0 }) });
    expect(fixed.observedGeneration).toBeUndefined();
    expect(fixed.conditions?.some((each) => 'observedGeneration' in each)).toBe(false);
  });

  test('contain the reason of a failure outside the containers, which is final', () => {
    const failure = { reason: 'Evicted', message: 'The node was low on resource: memory.' };
    const disruption = { reason: 'TerminationByKubelet', message: 'low on memory' };
    const evicted = status({ runtime: runtime([run()]), failure, disruption });
    expect(evicted).toMatchObject({ phase: 'Failed', ...failure });
    expect(condition(evicted, 'DisruptionTarget')).toMatchObject({ status: 'True', ...disruption });
    const later = status({ runtime: runtime([exited(0)]), previous: evicted, ending: true, now: NOW + 9_000 });
    expect(later).toMatchObject({ phase: 'Failed', ...failure });
    expect(condition(later, 'DisruptionTarget')).toEqual(condition(evicted, 'DisruptionTarget'));
    expect(condition(later, 'Ready')).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });

  describe('of a pod that a disruption ends', () => {
    const failure = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };
    const disruption = { reason: 'TerminationByKubelet', message: 'preempted' };
    const ending = { failure, disruption, ending: true };
    const begun = status({ runtime: runtime([run()]), ...ending });
    const end = (exitCode: number, restartPolicy = 'Always') =>
      status({ pod: pod({ restartPolicy }), runtime: runtime([exited(exitCode)]), previous: begun, ...ending });

    test('are those of a failure as long as containers run, and if one fails', () => {
      expect(begun).toMatchObject({ phase: 'Failed', ...failure });
      expect(end(137)).toMatchObject({ phase: 'Failed', ...failure });
    });

    test.each(['Always', 'OnFailure', 'Never'])('are those of a success if all exit with 0 (%s)', (restartPolicy) => {
      const ended = end(0, restartPolicy);
      expect(ended.phase).toBe('Succeeded');
      expect([ended.reason, ended.message]).toEqual([undefined, undefined]);
      expect(condition(ended, 'DisruptionTarget')).toMatchObject({ status: 'True', ...disruption });
      expect(condition(ended, 'Ready')).toMatchObject({ status: 'False', reason: 'PodCompleted' });
    });

    test('stay when its containers are removed', () => {
      for (const exitCode of [0, 137]) {
        const { phase } = end(exitCode);
        expect(status({ runtime: undefined, previous: end(exitCode), ...ending }).phase).toBe(phase);
      }
    });
  });

  test('contain a resize while it lasts', () => {
    const resize = [{ type: 'PodResizePending', status: 'True', reason: 'Deferred', message: 'no room' }] as const;
    const pending = status({ runtime: runtime([run()]), resize });
    expect(condition(pending, 'PodResizePending')).toMatchObject({ status: 'True', reason: 'Deferred' });
    const over = status({ runtime: runtime([run()]), previous: pending, pod: { ...pod(), status: pending } });
    expect(condition(over, 'PodResizePending')).toBeUndefined();
  });

  test('of other components are kept as in the API', () => {
    const foreign = { type: 'x/y', status: 'Unknown', reason: 'R', lastTransitionTime: '2020-01-01T00:00:00Z' };
    const one = status({ pod: { ...pod(), status: { conditions: [foreign, { type: 'Ready', status: 'True' }] } } });
    expect(condition(one, 'x/y')).toEqual(foreign);
    expect(one.conditions?.filter(({ type }) => type === 'Ready')).toHaveLength(1);
    expect(condition(one, 'Ready')?.status).toBe('False');
  });

  test('keep the scheduler’s time of PodScheduled', () => {
    const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z' };
    const one = status({ pod: { ...pod(), status: { conditions: [scheduled] } } });
    expect(condition(one, 'PodScheduled')?.lastTransitionTime).toBe('2020-01-01T00:00:00Z');
  });
});
