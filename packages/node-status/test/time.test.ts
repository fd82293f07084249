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
  ['all is well', { condition: fine, awaySince: undefined, network: withNetwork }, []],
  [
    'nothing has been heard yet',
    { condition: undefined, awaySince: undefined, network: withNetwork },
    ['container runtime status check may not have completed yet', 'network state unknown'],
  ],
  [
    'the network is not known yet',
    { condition: fine, awaySince: undefined, network: undefined },
    ['network state unknown'],
  ],
  [
    'no network of ours',
    { condition: fine, awaySince: undefined, network: noCni },
    ['container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no file'],
  ],
  [
    'the runtime’s own network',
    { condition: { ...fine, network: 'runtime', networkReason: 'r' }, awaySince: undefined, network: withNetwork },
    ['container runtime network not ready: NetworkReady=false reason:r message:'],
  ],
  [
    'the runtime is not ready',
    { condition: { ...fine, ready: false, reason: 'r', message: 'm' }, awaySince: undefined, network: withNetwork },
    ['container runtime not ready: RuntimeReady=false reason:r message:m'],
  ],
  ['the runtime is away for a moment', { condition: fine, awaySince: 70_001, network: withNetwork }, []],
  ['the runtime is away', { condition: fine, awaySince: 70_000, network: withNetwork }, ['container runtime is down']],
])('%s', (_, view, problems) => {
  expect(readinessProblems(view, 100_000)).toEqual(problems);
});

test('that the runtime can not be reached is not its own word', () => {
  expect(isAnswer({ ...fine, ready: false, reason: 'Unreachable' })).toBe(false);
  expect(isAnswer({ ...fine, ready: false, reason: 'other' })).toBe(true);
  expect(isAnswer(fine)).toBe(true);
});

test('an unchanged status is written at half to one and a half times the usual distance, and then at the usual one', () => {
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

test('a restart alone is no reason to write', () => {
  expect(isReportDue(noReport, 100, 50, 51)).toBe(false);
  expect(isReportDue(noReport, 101, 50, 51)).toBe(true);
  expect(isReportDue(noReport, 100, 50, undefined)).toBe(true);
});

test('the version is that of the release for all who compare', () => {
  expect(nodeVersion('1.2.3-dev+x')).toBe('v1.36.2+kubus.1.2.3-dev.x');
});
