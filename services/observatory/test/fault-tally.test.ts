import { HEADER, type StoredMessage } from '@kubus/bus';
import { expect, test } from '@jest/globals';
import { FaultTally } from '../src/fault-tally.ts';
import { message } from './recorded-node.ts';

/** A fault that was recorded at that time. */
function recorded(seq: number, type: string, instance: string, payload: unknown, stored: number): StoredMessage {
  const { message: wire } = message(seq);
  const subject = `kubus.node0.${type.replace('/1', '')}.${instance}`;
  return {
    seq,
    stored,
    message: { subject, headers: { ...wire.headers, [HEADER.type]: type }, data: JSON.stringify(payload) },
  };
}

const acted = (seq: number, rule: string, stored: number) =>
  recorded(seq, 'fault.event.faulted/1', 'prober-0', { rule, what: 'drop', subject: 'a.b', side: 'sender' }, stored);
const serviceFault = (seq: number, instance: string, what: object, stored: number) =>
  recorded(seq, 'fault.event.service/1', instance, { pid: 7, ...what }, stored);
const pause = { what: 'pause', forMs: 100 };
const rule = (id: string) => ({ id, match: { subject: '>' }, what: { kind: 'drop' as const } });

/** A tally of what has been recorded already. */
function tally(...recorded: StoredMessage[]): FaultTally {
  return new FaultTally((type, from) =>
    recorded.filter(({ stored, message: { headers } }) => headers[HEADER.type] === type && stored >= from),
  );
}

test('a rule is counted from its start, including earlier records, but not an older rule of its name', () => {
  const count = tally(acted(1, 'a', 5), acted(2, 'a', 10), acted(3, 'b', 11));
  expect(count.of('a')).toEqual({ acted: 0 });
  count.holds({ rule: rule('a'), since: 10 });
  expect(count.of('a')).toEqual({ acted: 1, actedAt: 10 });
  count.take([acted(4, 'a', 12), acted(5, 'b', 12), acted(6, 'none', 12), message(7)]);
  // It is published repeatedly.
  count.holds({ rule: rule('a'), since: 10 });
  expect(count.of('a')).toEqual({ acted: 2, actedAt: 12 });
  count.holds({ rule: rule('b'), since: 0 });
  expect(count.of('b')).toEqual({ acted: 1, actedAt: 11 });
  count.holds({ rule: rule('a'), since: 20 });
  expect(count.of('a')).toEqual({ acted: 0 });
  count.take([acted(8, 'a', 19), acted(9, 'a', 21)]);
  expect(count.of('a')).toEqual({ acted: 1, actedAt: 21 });
});

test('messages that do not match the schema are not counted', () => {
  const count = tally();
  count.holds({ rule: rule('a'), since: 0 });
  count.take([
    recorded(1, 'fault.event.faulted/1', 'prober-0', { rule: 'a' }, 5),
    recorded(2, 'fault.event.service/1', 'prober-0', { what: 'pause' }, 5),
  ]);
  expect([count.of('a'), count.pauses(6)]).toEqual([{ acted: 0 }, []]);
});

test('a process is paused until it is continued or killed, or its time is over', () => {
  const count = tally(serviceFault(1, 'prober-0', pause, 10));
  const standing = (now: number) => count.pauses(now).map(({ instance }) => instance);
  expect(count.pauses(50)).toEqual([{ instance: 'prober-0', since: 10, ends: 110 }]);
  count.take([
    serviceFault(2, 'sync-loop-0', pause, 5),
    serviceFault(3, 'cri-bridge-0', pause, 20),
    serviceFault(4, 'sync-loop-0', { what: 'restart' }, 21),
  ]);
  expect(standing(50)).toEqual(['sync-loop-0', 'prober-0', 'cri-bridge-0']);
  count.take([
    serviceFault(5, 'prober-0', { what: 'continue' }, 51),
    serviceFault(6, 'cri-bridge-0', { what: 'kill' }, 52),
  ]);
  expect(standing(53)).toEqual(['sync-loop-0']);
  expect(standing(105)).toEqual([]);
});
