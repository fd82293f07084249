import { expect, test } from '@jest/globals';
import type { CriticalPath, MessageBrief, Segment } from '@kubus/contracts/observatory';
import { comparisonTable } from './diff.ts';
import { pathTable } from './trace.ts';

function message(at: number, service: string, type: string): MessageBrief {
  return {
    ...{ seq: at, id: `${service}-0.1.${at}`, subject: 's', type, kind: 'fact', source: `${service}-0`, service },
    ...{ at, stored: at, causes: [], summary: '', bytes: 2 },
  };
}

const source = message(100, 'config-sources', 'config.fact.file/1');
const work = message(110, 'sync-loop', 'sync.fact.pod/1');
const status = message(130.25, 'pod-workers', 'worker.fact.status/1');

function segment(cause: MessageBrief, effect: MessageBrief, busMs: number, queueMs: number): Segment {
  const { service } = effect;
  const [from, to] = [cause.type.replace('/1', ''), effect.type.replace('/1', '')];
  const ms = effect.at - cause.at;
  return {
    cause,
    effect,
    service,
    step: `${from} > ${service} ${to}`,
    busMs,
    queueMs,
    workMs: ms - busMs - queueMs,
    ms,
  };
}

test('a critical path is printed as a table of steps with their service, their times and the sums', () => {
  const path: CriticalPath = {
    ...{ what: 'start', from: source, to: status, ms: 30.25, busMs: 3, queueMs: 5, workMs: 22.25 },
    segments: [segment(source, work, 1, 0), segment(work, status, 2, 5)],
  };
  expect(pathTable(path).split('\n')).toEqual([
    'SERVICE       STEP                                 BUS   QUEUE   WORK   MS     SINCE',
    'sync-loop     config.fact.file > sync.fact.pod     1.0   0.0     9.0    10.0   10.0',
    'pod-workers   sync.fact.pod > worker.fact.status   2.0   5.0     13.3   20.3   30.3',
    '              total start                          3.0   5.0     22.3   30.3   30.3',
  ]);
});

test('a comparison is printed as a table that marks differing steps and steps that only one side has', () => {
  const table = comparisonTable({
    what: 'start',
    left: { recording: 'a', pods: 1, ms: 30 },
    right: { recording: 'b', pods: 1, ms: 45 },
    steps: [
      { step: 'a > b c', service: 'b', left: 10, right: 10.2, verdict: 'same' },
      { step: 'c > d e', service: 'd', left: 10, right: 34.8, verdict: 'slower' },
      { step: 'e > d f', service: 'd', left: 10, verdict: 'missing' },
      { step: 'f > d g', service: 'd', right: 1, verdict: 'added' },
    ],
  });
  expect(table.split('\n')).toEqual([
    'SERVICE   LEFT   RIGHT   CHANGE             STEP',
    'b         10.0   10.2    +0.2               a > b c',
    'd         10.0   34.8    +24.8    slower    c > d e',
    'd         10.0   -                missing   e > d f',
    'd         -      1.0              added     f > d g',
    '          30.0   45.0    +15.0              total start',
  ]);
});
