import { describe, expect, test } from '@jest/globals';
import type { ContainerState, PodStatus } from '@kubus/contracts';
import { bareContainerId, chooseRun } from '../src/index.ts';

describe('chooseRun', () => {
  const ended = (id: string) => ({
    terminated: { exitCode: 1, ...(id !== '' && { containerID: `containerd://${id}` }) },
  });
  const waiting = (reason: string) => ({ waiting: { reason } });
  const running = { running: {} };

  function statusOf(state: ContainerState, lastState: ContainerState = {}): PodStatus {
    const common = { ready: false, restartCount: 0, image: '', imageID: '', containerID: 'containerd://now' };
    return { containerStatuses: [{ name: 'a', state, lastState, ...common }] };
  }

  test.each<[string, PodStatus, boolean, string]>([
    ['running', statusOf(running), false, 'now'],
    ['ended', statusOf(ended('one')), false, 'one'],
    ['waiting after its end: the one that ended', statusOf(waiting('CrashLoopBackOff'), ended('one')), false, 'one'],
    ['ended without having been created: the one before', statusOf(ended(''), ended('one')), false, 'one'],
    ['running again, with previous: the one before', statusOf(running, ended('one')), true, 'one'],
    ['waiting, with previous: the one before', statusOf(waiting('CrashLoopBackOff'), ended('one')), true, 'one'],
  ])('returns for a container that is %s', (_state, status, previous, id) => {
    expect(chooseRun('web', 'a', status, { previous })).toBe(`containerd://${id}`);
  });

  test('finds the run of an init container too', () => {
    const [one] = statusOf(running).containerStatuses ?? [];
    expect(chooseRun('web', 'a', { initContainerStatuses: one && [one] }, { previous: false })).toBe(
      'containerd://now',
    );
  });

  test.each<[PodStatus | undefined, boolean, string]>([
    [undefined, false, 'container "a" in pod "web" is not available'],
    [statusOf(running), true, 'previous terminated container "a" in pod "web" not found'],
    [statusOf(ended('')), false, 'container "a" in pod "web" is terminated'],
    [
      statusOf(waiting('ContainerCreating')),
      false,
      'container "a" in pod "web" is waiting to start: ContainerCreating',
    ],
    [statusOf(waiting('ErrImagePull')), false, `container "a" in pod "web" is waiting to start: image can't be pulled`],
    [
      statusOf(waiting('ImagePullBackOff')),
      false,
      'container "a" in pod "web" is waiting to start: trying and failing to pull image',
    ],
    [statusOf({}), false, 'container "a" in pod "web" is waiting to start - no logs yet'],
  ])('throws for a missing run: case %#', (status, previous, message) => {
    expect(() => chooseRun('web', 'a', status, { previous })).toThrow(message);
  });
});

test('bareContainerId removes the runtime’s name from an id', () => {
  expect(bareContainerId('containerd://abc')).toBe('abc');
  expect(bareContainerId('abc')).toBe('abc');
});
