import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import { serviceContracts } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { answerDiscovery, systemClock } from '../src/index.ts';

const NODE = 'n';
const server = new TestNatsServer();
const open: NatsConnection[] = [];

beforeEach(async () => {
  const identities = (['launcher', 'cli'] as const).map((service) => ({ service, instance: `${service}-0` }));
  await server.start(NODE, serviceContracts, identities);
  await server.makeStreams();
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await server.stop();
});

async function connection(instance: string): Promise<NatsConnection> {
  const made = await server.connect(instance);
  open.push(made);
  return made;
}

test('an instance says who it is to command line programs only, and overwrites none of its own facts with it', async () => {
  const launcher = await connection('launcher-0');
  const info = { service: 'launcher', instance: 'launcher-0', version: '0', description: 'x', metadata: {} };
  answerDiscovery(launcher, { ...info, stats: () => ({ requests: 0, errors: 0 }) }, systemClock);
  await launcher.flush();
  const people = await connection('cli-0');
  const published: string[] = [];
  const answered = Promise.withResolvers<undefined>();
  for (const subject of [`kubus.${NODE}.>`, '_INBOX.cli-0.>'])
    people.subscribe(subject, {
      callback: (_error, message) => {
        published.push(message.subject);
        if (message.subject.endsWith('.last')) answered.resolve(undefined);
      },
    });
  const inbox = '_INBOX.cli-0.last';
  // What the launcher may publish: a fact, an event, a call of the broker.
  for (const reply of ['$KV.kubus_n.node.fact.share.prober', 'kubus.n.node.event.process.x', inbox])
    people.publish('$SRV.PING.launcher.launcher-0', '', { reply });
  await answered.promise;
  await launcher.flush();
  await people.flush();
  expect(published).toEqual([inbox]);
});
