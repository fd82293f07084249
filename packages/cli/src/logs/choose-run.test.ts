import { describe, expect, test } from '@jest/globals';
import { type ContainerState, type PodStatus, podSchema } from '@kubus/contracts';
import { chooseContainers, chooseRun } from './choose-run.ts';

function podWith(annotations: Readonly<Record<string, string>> = {}, more: object = {}) {
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'u', annotations },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], ...more },
  });
}
const preset = (name: string) => ({ 'kubectl.kubernetes.io/default-container': name });

describe('the container', () => {
  const others = { initContainers: [{ name: 'i' }], ephemeralContainers: [{ name: 'e' }] };

  test.each([
    ['the first one', podWith(), {}, ['a'], 'Defaulted container "a" out of: a, b'],
    ['the first one', podWith({}, others), {}, ['a'], 'Defaulted container "a" out of: a, b, e (ephem), i (init)'],
    ['the only one', podWith({}, { containers: [{ name: 'x' }] }), {}, ['x'], undefined],
    ['the one that is named', podWith({}, others), { container: 'i' }, ['i'], undefined],
    ['the one of the annotation', podWith(preset('b')), {}, ['b'], undefined],
    ['the one that is named, not that of the annotation', podWith(preset('b')), { container: 'a' }, ['a'], undefined],
    ['each', podWith({}, others), { all: true }, ['i', 'a', 'b', 'e'], undefined],
  ])('is %s', (_which, pod, asked, names, notice) => {
    expect(chooseContainers(pod, asked)).toEqual({ names, notice });
  });

  test('of the annotation may be missing', () => {
    expect(chooseContainers(podWith(preset('x')), {}).notice).toBe(
      'Default container name "x" not found in pod web\nDefaulted container "a" out of: a, b',
    );
  });

  test('has to be in the pod', () => {
    const choose = () => chooseContainers(podWith(), { container: 'x' });
    expect(choose).toThrow('container x is not valid for pod web out of: a, b');
  });
});

describe('the run', () => {
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
    ['waiting after its end', statusOf(waiting('CrashLoopBackOff'), ended('one')), false, 'one'],
    ['ended without having been made', statusOf(ended(''), ended('one')), false, 'one'],
    ['running again, the one before', statusOf(running, ended('one')), true, 'one'],
    ['waiting, the one before', statusOf(waiting('CrashLoopBackOff'), ended('one')), true, 'one'],
  ])('of a container that is %s', (_state, status, previous, id) => {
    expect(chooseRun('web', 'a', status, { previous })).toBe(id);
  });

  test('of an init container is found, too', () => {
    const [one] = statusOf(running).containerStatuses ?? [];
    expect(chooseRun('web', 'a', { initContainerStatuses: one && [one] }, { previous: false })).toBe('now');
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
  ])('%# is missing, and why', (status, previous, message) => {
    expect(() => chooseRun('web', 'a', status, { previous })).toThrow(message);
  });
});
