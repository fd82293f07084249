import { expect, test } from '@jest/globals';
import { refusedMessage, refusedMessageSchema } from '@kubus/contracts';
import { type LogFields, type Logger, silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { Publisher } from './publisher.ts';
import { Refusals } from './refusals.ts';
import type { WireMessage } from './transport.ts';

function bench() {
  const clock = new ManualClock();
  const lines: LogFields[] = [];
  const published: WireMessage[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields) => void lines.push(fields) };
  const ids = { hex: (bytes: number) => '0'.repeat(2 * bytes), fraction: () => 0 };
  const publisherId = { node: 'n', instance: 'prober-0', epoch: 1 };
  const refusals = new Refusals({
    ...{ declaration: refusedMessage, node: 'n', instance: 'prober-0', logger, clock },
    publisher: new Publisher({ publisherId, clock, ids }),
    transport: {
      connected: true,
      onConnection: () => () => undefined,
      publish: (message) => void published.push(message),
      subscribe: () => () => undefined,
      storeFact: () => Promise.resolve(),
      watchFacts: () => () => undefined,
    },
  });
  const refuse = (subject: string, message = 'no') =>
    refusals.refuse({ subject, headers: { 'Kubus-Type': 'x' }, data: '"y"' }, new Error(message));
  return { clock, lines, published, refusals, refuse };
}

test('thousands of refused messages of a subject are one report a second, without a stack and with their number', async () => {
  const { clock, lines, published, refusals, refuse } = bench();
  for (let second = 0; second < 3; second++) {
    for (let one = 0; one < 4_000; one++) refuse('kubus.n.a', `no ${second}`);
    await clock.advance(1_000);
  }
  await clock.advance(10_000);
  refuse('kubus.n.a', 'again');
  expect(refusals.count).toBe(12_001);
  expect(lines).toEqual([
    { subject: 'kubus.n.a', error: 'no 0', count: 1 },
    { subject: 'kubus.n.a', error: 'no 0', count: 3_999 },
    { subject: 'kubus.n.a', error: 'no 1', count: 4_000 },
    { subject: 'kubus.n.a', error: 'no 2', count: 4_000 },
    { subject: 'kubus.n.a', error: 'again', count: 1 },
  ]);
  expect(published.map(({ data }) => refusedMessageSchema.parse(JSON.parse(data)).count)).toEqual([
    undefined,
    3_999,
    4_000,
    4_000,
    undefined,
  ]);
});

test('thousands of subjects are few reports a second, and each message is counted', async () => {
  const { clock, lines, refusals, refuse } = bench();
  for (let one = 0; one < 5_000; one++) refuse(`kubus.n.${one}`);
  await clock.advance(10_000);
  expect(refusals.count).toBe(5_000);
  expect(lines.length).toBeLessThan(20);
  expect(lines.reduce((sum, { count }) => sum + Number(count), 0)).toBe(5_000);
});

test('what is kept of a refused message has a bound', () => {
  const { published, refusals } = bench();
  const headers = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`H-${at}`, 'x'.repeat(60_000)]));
  refusals.refuse({ subject: 'kubus.n.a', headers, data: 'z'.repeat(1_000_000) }, new Error('e'.repeat(1_000_000)));
  expect(published[0]?.data.length).toBeLessThan(64 * 1024);
});
