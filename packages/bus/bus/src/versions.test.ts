import { describe, expect, test } from '@jest/globals';
import { factKey, podWorker, restartService, subjectName, subjectOf, typeOf } from '@kubus/contracts';
import type { Clock } from '@kubus/ports';
import { HEADER } from './envelope.ts';
import { LocalBroker } from './testing.ts';

const clock: Clock = { now: () => 0, after: () => () => undefined };

/** What a worker of this version publishes. */
const report = {
  ref: { uid: 'u1', namespace: 'default', name: 'a' },
  state: 'syncing' as const,
  since: '2026-01-01T00:00:00Z',
};

/** A reader of the workers' facts, and a worker whose next message can be that of another version. */
async function readerAndWorker() {
  const broker = new LocalBroker('n');
  const worker = broker.join('pod-workers', clock).bus;
  const { bus } = broker.join('sync-loop', clock);
  const reader = bus.reader(podWorker);
  worker.owner(podWorker).put('u1', report);
  await settled();
  const first = broker.said.find(({ headers }) => headers[HEADER.type] === typeOf(podWorker));
  if (first === undefined) throw new Error('nothing was published');
  let version = 1;
  return {
    ...{ bus, read: () => reader.get('u1')?.value },
    say: async (payload: object, headers: Record<string, string> = {}) => {
      version += 1;
      const message = { ...first.headers, [HEADER.version]: String(version), ...headers };
      await worker.transport.storeFact(factKey(podWorker, 'u1'), { data: JSON.stringify(payload), headers: message });
      await settled();
    },
    refused: () => broker.said.filter(({ headers }) => headers[HEADER.type] === 'service.event.refused/1'),
  };
}

/** Everything published has been received. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

describe('a reader of a fact', () => {
  test('accepts a message of a later version, without the fields that it does not know', async () => {
    const { read, say, bus } = await readerAndWorker();
    await say({ ...report, since: '2026-01-02T00:00:00Z', colour: 'blue', ref: { ...report.ref, shape: 'round' } });
    expect(read()).toEqual({ ...report, since: '2026-01-02T00:00:00Z' });
    expect(bus.refused).toBe(0);
  });

  test.each<[what: string, payload: object, headers: Record<string, string>, error: RegExp]>([
    ['an unknown value', { ...report, state: 'dreaming' }, {}, /syncing/],
    ['a missing required field', { ref: report.ref, state: 'syncing' }, {}, /since/],
    ['another version', report, { [HEADER.type]: 'worker.fact.state/2' }, /state\/2.*state\/1/],
  ])('refuses %s, reports it and keeps the last valid fact', async (_what, payload, headers, error) => {
    const { read, say, bus, refused } = await readerAndWorker();
    await say(payload, headers);
    expect(read()).toEqual(report);
    expect(bus.refused).toBe(1);
    expect(refused().map(({ data }) => (JSON.parse(data) as { error: string }).error)).toEqual([
      expect.stringMatching(error),
    ]);
    await say({ ...report, since: '2026-01-03T00:00:00Z' });
    expect(read()?.since).toBe('2026-01-03T00:00:00Z');
  });
});

test('a server refuses a command of another version and does nothing', async () => {
  const broker = new LocalBroker('n');
  const { bus } = broker.join('launcher', clock);
  let served = 0;
  bus.serve(restartService, () => {
    served += 1;
    return Promise.resolve({ instances: [] });
  });
  const person = broker.join('cli', clock).bus;
  await person.call(restartService, 'prober', {});
  const [asked] = broker.said.filter(({ headers }) => headers[HEADER.type] === typeOf(restartService));
  if (asked === undefined) throw new Error('no command was sent');
  const headers = { ...asked.headers, [HEADER.type]: 'node.cmd.restart/2', [HEADER.command]: '1.2.2' };
  person.transport.publish({ ...asked, headers });
  await settled();
  const replies = broker.said.filter(({ headers: own }) => own[HEADER.command] === '1.2.2' && own[HEADER.status]);
  expect(replies.map(({ headers: own, data }) => [own[HEADER.status], data])).toEqual([
    ['refused', expect.stringMatching(/restart\/2.*restart\/1/)],
  ]);
  expect([served, bus.refused]).toEqual([1, 1]);
});

test('two versions of a message have different subjects, and the patterns that follow one pod cover both', () => {
  const later = { ...podWorker, version: 2 };
  expect([podWorker, later].map(subjectName)).toEqual(['state', 'state-2']);
  expect(subjectOf('n', podWorker, 'u1')).toBe('kubus.n.worker.fact.state.u1');
  expect(subjectOf('n', later, 'u1')).toBe('kubus.n.worker.fact.state-2.u1');
  expect(factKey(later, 'u1')).toBe('worker.fact.state-2.u1');
  expect([podWorker, later].map(typeOf)).toEqual(['worker.fact.state/1', 'worker.fact.state/2']);
});
