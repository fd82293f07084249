import type { StoredMessage } from '@kubus/bus';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { type NatsConnection, headers } from '@nats-io/nats-core';
import { EventEmitter, once } from 'node:events';
import { RecordFollower, type RecordState } from '../src/index.ts';
import { TestNatsServer } from '../src/testing.ts';
import { ids } from './ports.ts';

const NODE = 'n';
const identities = (['launcher', 'observatory', 'cri-bridge'] as const).map((service) => ({
  service,
  instance: `${service}-0`,
}));

let server: TestNatsServer;
let open: NatsConnection[];
let follower: RecordFollower | undefined;

beforeEach(async () => {
  server = new TestNatsServer();
  open = [];
  await server.start(NODE, serviceContracts, identities);
});
afterEach(async () => {
  await follower?.stop();
  for (const connection of open) await connection.close();
  await server.stop();
});

async function connect(instance: string): Promise<NatsConnection> {
  const made = await server.connect(instance);
  open.push(made);
  return made;
}

/** The messages that a follower has passed on. */
class Taken {
  readonly messages: StoredMessage[] = [];
  readonly begun: RecordState[] = [];
  readonly #events = new EventEmitter();
  /** Thrown instead of taking the next messages. */
  refusal: Error | undefined;

  follow(connection: NatsConnection): RecordFollower {
    return new RecordFollower({
      ...{ connection, node: NODE, instance: 'observatory-0', ids, logger: silentLogger },
      begin: (state) => {
        this.begun.push(state);
        return this.begun[0]?.created === state.created ? (this.messages.at(-1)?.seq ?? 0) + 1 : 1;
      },
      take: (messages) => {
        const { refusal } = this;
        this.refusal = undefined;
        if (refusal !== undefined) throw refusal;
        this.messages.push(...messages);
        this.#events.emit('taken');
      },
    });
  }

  async until(count: number): Promise<readonly StoredMessage[]> {
    while (this.messages.length < count) await once(this.#events, 'taken');
    return this.messages;
  }
}

async function say(connection: NatsConnection, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number++) {
    const own = headers();
    own.set('Kubus-Seq', String(number));
    connection.publish('kubus.n.runtime.event.hint.k', `{"number":${number}}`, { headers: own });
  }
  await connection.flush();
}

const numbers = (messages: readonly StoredMessage[]) =>
  messages.map(({ message }) => Number(message.headers['Kubus-Seq']));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('delivers every message once, in order, both stored and new ones', async () => {
  await server.makeStreams();
  const writer = await connect('cri-bridge-0');
  await say(writer, 1, 1_200);
  const taken = new Taken();
  follower = taken.follow(await connect('observatory-0'));
  await taken.until(1_200);
  await say(writer, 1_201, 1_210);
  const messages = await taken.until(1_210);
  expect(numbers(messages)).toEqual(upTo(1_210));
  expect(messages.map(({ seq }) => seq)).toEqual(upTo(1_210));
  expect(follower.following).toBe(true);
  const [first] = messages;
  const subject = 'kubus.n.runtime.event.hint.k';
  expect(first?.message).toEqual({ subject, headers: { 'Kubus-Seq': '1' }, data: '{"number":1}' });
  expect(Math.abs((first?.stored ?? 0) - Date.now())).toBeLessThan(3_600_000);
  await follower.stop();
  expect(follower.following).toBe(false);
});

test('delivers messages again that could not be taken', async () => {
  await server.makeStreams();
  const writer = await connect('cri-bridge-0');
  const taken = new Taken();
  taken.refusal = new Error('the disk is full');
  follower = taken.follow(await connect('observatory-0'));
  await say(writer, 1, 700);
  expect(numbers(await taken.until(700))).toEqual(upTo(700));
  expect(taken.refusal).toBeUndefined();
});

test('continues when the broker restarts with an empty record, and waits until there is one', async () => {
  const observatory = await connect('observatory-0');
  const taken = new Taken();
  follower = taken.follow(observatory);
  await server.makeStreams();
  await say(await connect('cri-bridge-0'), 1, 3);
  await taken.until(3);
  await server.kill();
  await server.restart();
  await server.makeStreams();
  await say(await connect('cri-bridge-0'), 4, 5);
  const messages = await taken.until(5);
  expect(numbers(messages)).toEqual(upTo(5));
  expect(messages.map(({ seq }) => seq)).toEqual([1, 2, 3, 1, 2]);
  expect(taken.begun.at(-1)?.created).not.toBe(taken.begun[0]?.created);
});
