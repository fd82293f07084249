import { expect, test } from '@jest/globals';
import type { FactListener, Transport, WireMessage } from './transport.ts';
import { HEADER } from './envelope.ts';
import { MessageCosts } from './message-costs.ts';

const message = (type: string): WireMessage => ({
  subject: 'kubus.n.x',
  headers: { [HEADER.type]: type },
  data: '',
});

/** A transport on which sending takes 3 µs, and the time that passes. */
function make() {
  const time = { micros: 0 };
  const listeners: ((message: WireMessage) => void)[] = [];
  let watch: FactListener | undefined;
  const inner: Transport = {
    connected: true,
    onConnection: () => () => undefined,
    publish: () => void (time.micros += 3),
    subscribe: (_pattern, listener) => {
      listeners.push(listener);
      return () => undefined;
    },
    storeFact: () => {
      time.micros += 3;
      return Promise.resolve();
    },
    watchFacts: (_pattern, listener) => {
      watch = listener;
      return () => undefined;
    },
  };
  const costs = new MessageCosts(() => time.micros);
  const arrive = (type: string) => {
    for (const listener of listeners) listener(message(type));
    watch?.message(message(type));
  };
  return { time, inner, costs, arrive };
}

test('messages are counted by kind; what a handler sends is not part of its own cost', async () => {
  const { time, inner, costs, arrive } = make();
  const transport = costs.measured(inner, 'sent');
  transport.watchFacts('>', {
    present: () => undefined,
    message: () => {
      time.micros += 10;
      transport.publish(message('a.cmd.do/2'));
      time.micros += 1;
    },
  });
  arrive('a.fact.pod/1');
  arrive('a.fact.pod/1');
  await transport.storeFact('a.fact.pod.x', message('a.fact.pod/1'));
  expect([...costs]).toEqual([
    { type: 'a.cmd.do', way: 'sent', count: 2, micros: 6 },
    { type: 'a.fact.pod', way: 'received', count: 2, micros: 22 },
    { type: 'a.fact.pod', way: 'sent', count: 1, micros: 3 },
  ]);
});

test('a handler that throws is counted, and what is received for copies is not', () => {
  const { time, inner, costs, arrive } = make();
  const handler = () => {
    time.micros += 5;
    throw new Error('no');
  };
  costs.measured(inner, 'copied').subscribe('>', () => undefined);
  costs.measured(inner, 'sent').subscribe('>', handler);
  expect(() => arrive('a.event.b/1')).toThrow('no');
  costs.measured(inner, 'copied').publish(message('a.event.b/1'));
  expect([...costs]).toEqual([
    { type: 'a.event.b', way: 'received', count: 1, micros: 5 },
    { type: 'a.event.b', way: 'copied', count: 1, micros: 3 },
  ]);
});

test('no more than a thousand kinds are told apart', () => {
  const { inner, costs } = make();
  const transport = costs.measured(inner, 'sent');
  for (let at = 0; at < 1_100; at += 1) transport.publish(message(`a.event.e${at}/1`));
  const all = [...costs];
  expect(all.length).toBeLessThanOrEqual(1_001);
  expect(all.find(({ type }) => type === 'other')).toMatchObject({ count: 100 });
});
