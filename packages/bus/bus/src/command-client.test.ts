import { expect, test } from '@jest/globals';
import { type CriRequest, criCommands } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { LocalBroker } from './testing.ts';

test('a request that is made for its server is made again for each start of it', async () => {
  const [clock, broker] = [new ManualClock(), new LocalBroker('n')];
  const { bus } = broker.join('node-api', clock);
  const sealed = (epoch: number): CriRequest<'Exec'> => ({ params: {}, command: { by: String(epoch), box: '' } });
  const answer = bus.call(criCommands.Exec, 'pod-1', ({ epoch }) => sealed(epoch));
  const sent = () => broker.said.filter(({ subject }) => subject.includes('.cmd.Exec.')).map(({ data }) => data);
  await clock.advance(5_000);
  expect(sent()).toEqual([]);

  broker.join('cri-bridge', clock, 1);
  await clock.advance(0);
  expect(sent()).toEqual([JSON.stringify(sealed(1))]);

  const { bus: later } = broker.join('cri-bridge', clock, 2);
  later.serve(criCommands.Exec, ({ request }) => {
    return Promise.resolve({ response: { url: request.command?.by ?? '' }, at: { epoch: 2, counter: 1 } });
  });
  await clock.advance(1_000);
  expect((await answer).result.response.url).toBe('2');
});

test('a request that cannot be made fails its call', async () => {
  const [clock, broker] = [new ManualClock(), new LocalBroker('n')];
  const { bus } = broker.join('node-api', clock);
  const answer = bus.call(criCommands.Exec, 'pod-1', () => {
    throw new Error('no key');
  });
  const failed = expect(answer).rejects.toThrow('no key');
  broker.join('cri-bridge', clock);
  await clock.advance(0);
  await failed;
});
