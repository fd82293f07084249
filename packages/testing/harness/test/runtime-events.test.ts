import { expect, test } from '@jest/globals';
import { containerRuns, parseEvents } from '../src/runtime-events.ts';

const log = [
  'ctr: a message that is no event',
  '2026-11-20 11:56:20.032480916 +0000 UTC k8s.io /containers/create {"id":"a","image":"x"}',
  '2026-11-20 11:56:20.1 +0000 UTC k8s.io /tasks/start {"container_id":"a","pid":7}',
  '2026-11-20 11:56:20.2 +0000 UTC k8s.io /tasks/exec-started {"container_id":"a","exec_id":"e","pid":8}',
  '2026-11-20 11:56:20.3 +0000 UTC k8s.io /tasks/exit {"container_id":"a","id":"e","pid":8}',
  '2026-11-20 11:56:20.4 +0000 UTC k8s.io /tasks/exit {"container_id":"a","id":"a","pid":7}',
  '2026-11-20 11:56:20.5 +0000 UTC k8s.io /tasks/start {"container_id":"b","pid":9}',
  '2026-11-20 11:56:20.6 +0000 UTC k8s.io /tasks/start {"container_id":"a","pid":10}',
  '2026-11-20 11:56:20.7 +0000 UTC k8s.io /tasks/start {"container_id":"c","pi',
].join('\n');

test('events are read line by line; invalid and incomplete lines are skipped', () => {
  const events = parseEvents(log);
  expect(events).toHaveLength(7);
  expect(events[0]).toEqual({
    at: '2026-11-20T11:56:20.032480916Z',
    namespace: 'k8s.io',
    topic: '/containers/create',
    payload: { id: 'a', image: 'x' },
  });
});

const at = (seconds: string) => Date.parse(`2026-11-20T11:56:${seconds}Z`);

test('a second start of a container is counted, an exec in it is not', () => {
  expect(containerRuns(parseEvents(log))).toEqual([
    { id: 'a', starts: 2, exits: 1, startedAt: at('20.1'), exitedAt: at('20.4') },
    { id: 'b', starts: 1, exits: 0, startedAt: at('20.5'), exitedAt: undefined },
  ]);
});

test('a run whose start is in no event, because it was listed, ends with its exit', () => {
  const listed = { id: 'c', starts: 1, exits: 0, startedAt: at('20.0'), exitedAt: undefined };
  const exit = '2026-11-20 11:56:20.9 +0000 UTC k8s.io /tasks/exit {"container_id":"c","id":"c","pid":11}\n';
  expect(containerRuns(parseEvents(exit), new Map([['c', listed]]))).toEqual([
    { ...listed, exits: 1, exitedAt: at('20.9') },
  ]);
  expect(containerRuns(parseEvents(exit))).toEqual([]);
});
