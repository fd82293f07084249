import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type RuntimeView,
  isAnswer,
  isReportDue,
  noReport,
  nodeVersion,
  planAfterWrite,
  readinessProblems,
} from '../src/index.ts';

const fine = { ready: true, network: 'cni-bridge', networkReady: false, events: 'cri' } as const;
const noCni = { ready: false, reason: 'NetworkPluginNotReady', message: 'no file', broken: [] };
const withNetwork = { ready: true, broken: [] };

test.each<[string, RuntimeView, readonly string[]]>([
  ['none when everything is ready', { condition: fine, awaySince: undefined, network: withNetwork }, []],
  [
    'runtime and network unknown',
    { condition: undefined, awaySince: undefined, network: withNetwork },
    ['container runtime status check may not have completed yet', 'network state unknown'],
  ],
  ['network unknown', { condition: fine, awaySince: undefined, network: undefined }, ['network state unknown']],
  [
    'the network of cni-bridge is not ready',
    { condition: fine, awaySince: undefined, network: noCni },
    ['container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no file'],
  ],
  [
    'the runtime’s own network is not ready',
    { condition: { ...fine, network: 'runtime', networkReason: 'r' }, awaySince: undefined, network: withNetwork },
    ['container runtime network not ready: NetworkReady=false reason:r message:'],
  ],
  [
    'the runtime is not ready',
    { condition: { ...fine, ready: false, reason: 'r', message: 'm' }, awaySince: undefined, network: withNetwork },
    ['container runtime not ready: RuntimeReady=false reason:r message:m'],
  ],
  [
    'none while the runtime is unreachable for a short time',
    { condition: fine, awaySince: 70_001, network: withNetwork },
    [],
  ],
  [
    'the runtime is unreachable for too long',
    { condition: fine, awaySince: 70_000, network: withNetwork },
    ['container runtime is down'],
  ],
])('the problems of a node: %s', (_, view, problems) => {
  expect(readinessProblems(view, 100_000)).toEqual(problems);
});

test('an unreachable runtime has not reported a condition', () => {
  expect(isAnswer({ ...fine, ready: false, reason: 'Unreachable' })).toBe(false);
  expect(isAnswer({ ...fine, ready: false, reason: 'other' })).toBe(true);
  expect(isAnswer(fine)).toBe(true);
});

test('after a change, the next write of an unchanged status is due after half to one and a half periods, and then after the usual one', () => {
  const everyMs = 300_000;
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (fraction) => {
      const plan = planAfterWrite(noReport, { changed: true, now: 1_000, everyMs, fraction });
      const due = (ms: number) => isReportDue(plan, 1_000 + ms, everyMs, undefined);
      expect(due(everyMs / 2 - 1)).toBe(false);
      expect(due(everyMs * 1.5)).toBe(true);
      const next = planAfterWrite(plan, { changed: false, now: 2_000, everyMs, fraction });
      expect(isReportDue(next, 2_000 + everyMs - 1, everyMs, undefined)).toBe(false);
      expect(isReportDue(next, 2_000 + everyMs, everyMs, undefined)).toBe(true);
    }),
  );
});

test('a restart alone does not make a write due', () => {
  expect(isReportDue(noReport, 100, 50, 51)).toBe(false);
  expect(isReportDue(noReport, 101, 50, 51)).toBe(true);
  expect(isReportDue(noReport, 100, 50, undefined)).toBe(true);
});

test('the version compares equal to the Kubernetes release', () => {
  expect(nodeVersion('1.2.3-dev+x')).toBe('v1.36.2+kubus.1.2.3-dev.x');
});
