import { describe, expect, test } from '@jest/globals';
import { podSchema } from '@kubus/contracts';
import { chooseContainers } from './choose-containers.ts';

function podWith(annotations: Readonly<Record<string, string>> = {}, more: object = {}) {
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'u', annotations },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], ...more },
  });
}
const preset = (name: string) => ({ 'kubectl.kubernetes.io/default-container': name });

describe('the chosen container', () => {
  const others = { initContainers: [{ name: 'i' }], ephemeralContainers: [{ name: 'e' }] };

  test.each([
    ['the first one', podWith(), {}, ['a'], 'Defaulted container "a" out of: a, b'],
    ['the first one', podWith({}, others), {}, ['a'], 'Defaulted container "a" out of: a, b, e (ephem), i (init)'],
    ['the only one', podWith({}, { containers: [{ name: 'x' }] }), {}, ['x'], undefined],
    ['the requested one', podWith({}, others), { container: 'i' }, ['i'], undefined],
    ['the one of the annotation', podWith(preset('b')), {}, ['b'], undefined],
    ['the requested one, not that of the annotation', podWith(preset('b')), { container: 'a' }, ['a'], undefined],
    ['each', podWith({}, others), { all: true }, ['i', 'a', 'b', 'e'], undefined],
  ])('is %s', (_which, pod, asked, names, notice) => {
    expect(chooseContainers(pod, asked)).toEqual({ names, notice });
  });

  test('is the first one when the container named by the annotation does not exist', () => {
    expect(chooseContainers(podWith(preset('x')), {}).notice).toBe(
      'Default container name "x" not found in pod web\nDefaulted container "a" out of: a, b',
    );
  });

  test('must exist in the pod', () => {
    const choose = () => chooseContainers(podWith(), { container: 'x' });
    expect(choose).toThrow('container x is not valid for pod web out of: a, b');
  });
});
