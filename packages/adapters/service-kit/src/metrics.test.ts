import { expect, test } from '@jest/globals';
import { HEADER, MessageCosts, type Transport } from '@kubus/bus';
import { Metrics, addMessageCosts } from './metrics.ts';

test('the cost of messages has a counter of messages and one of CPU, by type and way', async () => {
  let micros = 0;
  const costs = new MessageCosts(() => micros);
  const inner = { publish: () => void (micros += 1_500) } as unknown as Transport;
  costs.measured(inner, 'sent').publish({ subject: 's', headers: { [HEADER.type]: 'a.event.b/1' }, data: '' });
  const metrics = new Metrics({ service: 'it' });
  addMessageCosts(metrics, costs);
  const labels = 'type="a.event.b",way="sent",service="it"';
  const { text } = await metrics.write();
  expect(text).toContain(`kubus_messages_total{${labels}} 1\n`);
  expect(text).toContain(`kubus_messages_cpu_seconds_total{${labels}} 0.0015\n`);
});
