import { describe, expect, it } from '@jest/globals';
import { type UnaryCriMethod, criMethods } from '@kubus/proto/cri';
import fc from 'fast-check';
import { defaultDeadlineMs } from './deadlines.ts';

describe('defaultDeadlineMs', () => {
  it.each([
    ['RunPodSandbox: twice the request timeout', 'RunPodSandbox', {}, 240_000],
    ['StopContainer: its own time and the request timeout', 'StopContainer', { timeout: '30' }, 150_000],
    ['StopContainer without time', 'StopContainer', {}, 120_000],
    ['StopPodSandbox: plain', 'StopPodSandbox', {}, 120_000],
    ['ExecSync: its own time and the request timeout', 'ExecSync', { timeout: '1' }, 121_000],
    ['ExecSync without time: no limit', 'ExecSync', {}, undefined],
    ['ExecSync with time 0: no limit', 'ExecSync', { timeout: '0' }, undefined],
    ['PullImage: no limit', 'PullImage', {}, undefined],
    ['CheckpointContainer: its own time', 'CheckpointContainer', { timeout: '7' }, 7_000],
    ['CheckpointContainer without time', 'CheckpointContainer', {}, 120_000],
    ['a read: plain', 'ContainerStatus', {}, 120_000],
  ] as const)('%s', (_case, method, request, expected) => {
    expect(defaultDeadlineMs(method, request)).toBe(expected);
  });

  it('every other method has the request timeout', () => {
    const special = ['RunPodSandbox', 'StopContainer', 'ExecSync', 'PullImage', 'CheckpointContainer'];
    const plain = Object.entries(criMethods)
      .filter(([name, { kind }]) => kind === 'unary' && !special.includes(name))
      .map(([name]) => name as UnaryCriMethod);
    fc.assert(
      fc.property(fc.constantFrom(...plain), fc.integer({ min: 1, max: 3_600_000 }), (method, timeout) => {
        expect(defaultDeadlineMs(method, {}, timeout)).toBe(timeout);
      }),
    );
  });
});
