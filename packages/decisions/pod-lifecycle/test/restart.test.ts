import type { Container } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import { restartDecision, restartsAfter } from '../src/index.ts';
import { restartsAll } from '../src/restart.ts';
import { exited, pod, run } from './states.ts';

const container: Container = { name: 'c', image: 'busybox' };

describe('restartDecision', () => {
  test.each([
    ['Always', undefined, true],
    ['Always', run(), false],
    ['Always', exited(0), true],
    ['Always', exited(1), true],
    ['OnFailure', exited(0), false],
    ['OnFailure', exited(1), true],
    ['Never', undefined, true],
    ['Never', exited(0), false],
    ['Never', exited(1), false],
    ['Never', run({ state: 'created' }), true],
    ['Never', run({ state: 'unknown' }), true],
    [undefined, exited(0), true],
  ])('decides by the policy %s', (restartPolicy, newest, restart) => {
    expect(restartDecision(pod({ restartPolicy }), container, newest).restart).toBe(restart);
  });

  test('prefers a container’s own policy to the pod’s', () => {
    const own = { ...container, restartPolicy: 'Never' };
    expect(restartDecision(pod({ restartPolicy: 'Always' }), own, exited(1)).restart).toBe(false);
  });

  test.each([
    ['In', [42], 42, true],
    ['In', [42], 1, false],
    ['NotIn', [42], 1, true],
    ['NotIn', [42], 42, false],
  ])('applies a rule %s %j to exit code %i', (operator, values, code, restart) => {
    const ruled = {
      ...container,
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator, values } }],
    };
    expect(restartDecision(pod(), ruled, exited(code)).restart).toBe(restart);
  });

  test('starts nothing for a pod that is being deleted', () => {
    const deleted = pod({ restartPolicy: 'Always' }, { deletionTimestamp: '2030-01-01T00:00:00Z' });
    for (const newest of [undefined, exited(1), run({ state: 'unknown' })]) {
      expect(restartDecision(deleted, container, newest)).toEqual({ restart: false, why: 'deleted' });
    }
  });
});

test.each([
  ['RestartAllContainers', 42, true],
  ['RestartAllContainers', 1, false],
  ['Restart', 42, false],
])('restartsAll with a rule %s and exit code %i', (action, code, all) => {
  const rules = [{ action, exitCodes: { operator: 'In', values: [42] } }];
  expect(restartsAll({ ...container, restartPolicyRules: rules }, code)).toBe(all);
});

test('the first matching rule decides, and one with an unknown action never matches', () => {
  const exitCodes = { operator: 'In', values: [42] };
  const rules = [
    { action: 'Explode', exitCodes },
    { action: 'Restart', exitCodes },
    { action: 'RestartAllContainers', exitCodes },
  ];
  expect(restartsAll({ ...container, restartPolicyRules: rules }, 42)).toBe(false);
  expect(
    restartsAfter(pod({ restartPolicy: 'Never' }), { ...container, restartPolicyRules: rules.slice(0, 1) }, 42),
  ).toBe(false);
});
