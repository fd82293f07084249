import { describe, expect, test } from '@jest/globals';
import type { ContainerStatus, PodStatus } from '@kubus/contracts';
import { type PrintedPod, podColumns } from './pod-columns.ts';

type Part = Partial<ContainerStatus>;

const up: Part = { ready: true, started: true, state: { running: {} } };
const running: Part = { state: { running: {} } };
const none: Part = { state: { waiting: { reason: '' } } };
const waiting = (reason: string): Part => ({ state: { waiting: { reason } } });
const exit = (exitCode: number, more: object = {}): Part => ({ state: { terminated: { exitCode, ...more } } });
const completed = exit(0, { reason: 'Completed' });
const isTrue = (type: string) => ({ type, status: 'True' });
const at = (minute: number) => `2030-01-01T00:0${minute}:00Z`;
const restarted = (part: Part, restartCount: number, minute: number): Part => ({
  ...part,
  restartCount,
  lastState: { terminated: { exitCode: 1, finishedAt: at(minute) } },
});

interface Case extends Partial<PodStatus> {
  /** Names of sidecars begin with `side`. */
  readonly init?: readonly Part[];
  readonly sidecars?: readonly number[];
  readonly main?: readonly Part[];
  readonly isDeleted?: boolean;
}

function pod({ init = [], sidecars = [], main = [{}], isDeleted = false, ...status }: Case): PrintedPod {
  const statuses = (parts: readonly Part[], prefix: string) =>
    parts.map((part, index) => ({
      name: `${prefix}${index}`,
      ready: false,
      restartCount: 0,
      image: 'x',
      imageID: '',
      ...part,
    }));
  const initContainers = init.map((_, index) => ({
    name: `i${index}`,
    ...(sidecars.includes(index) && { restartPolicy: 'Always' }),
  }));
  return {
    spec: { initContainers, containers: main.map((_, index) => ({ name: `m${index}` })) },
    status: {
      phase: 'Running',
      ...status,
      initContainerStatuses: statuses(init, 'i'),
      containerStatuses: statuses(main, 'm'),
    },
    isDeleted,
  };
}

// The cases of the reference's own tests (printers_test.go, TestPrintPod and TestPrintPodWithRestartableInitContainers) and the branches of
// printPod that they leave out.
describe('READY, STATUS and RESTARTS are what kubectl shows', () => {
  test.each<[string, string, string, number, Case]>([
    ['one of two ready', '1/2', 'Running', 6, { main: [{ ...up, restartCount: 3 }, { restartCount: 3 }] }],
    ['a waiting one', '1/2', 'Why', 0, { main: [up, waiting('Why')] }],
    ['the first with a reason', '0/2', 'Why', 0, { main: [waiting('Why'), exit(1, { reason: 'Ended' })] }],
    ['ready, but not running', '1/2', 'Running', 0, { main: [up, { ready: true }] }],
    ['the reason of the pod', '1/2', 'Evicted', 0, { reason: 'Evicted', main: [up, { ready: true }] }],
    ['running and completed', '1/2', 'NotReady', 0, { main: [{ ...completed, ready: true }, up] }],
    ['the same and ready', '1/2', 'Running', 0, { main: [completed, up], conditions: [isTrue('Ready')] }],
    ['completed and failed', '0/2', 'Error', 0, { main: [completed, exit(1, { reason: 'Error' })] }],
    ['completed, failed and running', '1/3', 'ExitCode:3', 0, { main: [completed, exit(3), up] }],
    ['completed', '0/1', 'Completed', 0, { phase: 'Succeeded', main: [completed] }],
    ['failed with a code', '0/1', 'ExitCode:7', 0, { phase: 'Failed', main: [exit(7)] }],
    ['failed with a signal', '0/1', 'Signal:9', 0, { phase: 'Failed', main: [exit(137, { signal: 9 })] }],
    [
      'gated',
      '0/1',
      'SchedulingGated',
      0,
      { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
    ],
    ['init: running', '0/1', 'Init:0/1', 3, { init: [restarted(running, 3, 1)], main: [none] }],
    ['init: the second', '0/1', 'Init:1/2', 0, { init: [completed, none], main: [none] }],
    ['init: PodInitializing', '0/1', 'Init:1/2', 0, { init: [completed, waiting('PodInitializing')] }],
    ['init: restarts of both', '0/1', 'Init:1/2', 5, { init: [restarted(completed, 2, 1), restarted(running, 3, 2)] }],
    ['init: not those after it', '0/1', 'Init:0/2', 1, { init: [restarted(running, 1, 1), { restartCount: 7 }] }],
    [
      'init: waiting',
      '0/1',
      'Init:CrashLoopBackOff',
      0,
      { init: [waiting('CrashLoopBackOff')], main: [waiting('PodInitializing')] },
    ],
    [
      'init: failed',
      '0/1',
      'Init:Error',
      0,
      { init: [exit(1, { reason: 'Error' })], main: [waiting('PodInitializing')] },
    ],
    ['init: failed with a code', '0/1', 'Init:ExitCode:2', 0, { init: [exit(2)] }],
    ['init: failed with a signal', '0/1', 'Init:Signal:9', 0, { init: [exit(137, { signal: 9 })] }],
    ['init is over', '0/1', 'PodInitializing', 0, { init: [completed], main: [waiting('PodInitializing')] }],
    [
      'init is over: its restarts are gone',
      '1/1',
      'Running',
      4,
      { init: [restarted(completed, 2, 1)], main: [restarted(up, 4, 2)] },
    ],
    [
      'init runs again in a running pod',
      '1/1',
      'Init:0/1',
      1,
      { init: [running], main: [{ ...up, restartCount: 1 }], conditions: [isTrue('Initialized')] },
    ],
    ['a sidecar that starts', '0/2', 'Init:0/1', 0, { init: [running], sidecars: [0], main: [none] }],
    ['a sidecar that has started', '1/2', 'Init:1/2', 0, { init: [up, running], sidecars: [0], main: [none] }],
    [
      'a sidecar and its pod',
      '2/2',
      'Running',
      5,
      { init: [restarted(up, 3, 1)], sidecars: [0], main: [restarted(up, 2, 2)] },
    ],
    [
      'a sidecar that is not ready',
      '1/2',
      'Running',
      0,
      { init: [{ ...up, ready: false }], sidecars: [0], main: [up] },
    ],
    ['to end', '1/1', 'Terminating', 0, { main: [up], isDeleted: true }],
    ['to end, pending', '0/1', 'Terminating', 0, { phase: 'Pending', isDeleted: true }],
    ['to end, ended', '0/1', 'Completed', 0, { phase: 'Succeeded', main: [completed], isDeleted: true }],
    ['to end on a lost node', '1/1', 'Unknown', 0, { reason: 'NodeLost', main: [up], isDeleted: true }],
  ])('%s', (_what, ready, status, restarts, given) => {
    const columns = podColumns(pod(given));
    expect([`${columns.ready}/${columns.total}`, columns.status, columns.restarts]).toEqual([ready, status, restarts]);
  });

  test('the time of the last restart is that of the containers that count', () => {
    const of = (given: Case) => podColumns(pod(given)).restartedAt;
    expect(of({ main: [restarted(up, 1, 2), restarted(up, 1, 1)] })).toBe(at(2));
    expect(of({ init: [restarted(completed, 1, 3)], main: [restarted(up, 1, 1)] })).toBe(at(1));
    expect(of({ init: [restarted(running, 1, 3)], main: [restarted(up, 1, 4)] })).toBe(at(3));
    expect(of({})).toBeUndefined();
  });

  test('of a pod that is no longer known', () => {
    expect(podColumns({ spec: undefined, status: undefined, isDeleted: true })).toMatchObject({
      total: 0,
      status: 'Terminating',
    });
  });
});
