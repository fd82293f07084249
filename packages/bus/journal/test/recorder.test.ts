import { beforeEach, describe, expect, test } from '@jest/globals';
import { HEADER, type Transport, type WireMessage } from '@kubus/bus';
import { type JournalPart, journalPartSchema } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { Recorder, TapedTransport, tapedClock } from '../src/index.ts';

/** A connection whose state is set by the test. */
class ScriptedTransport implements Transport {
  connected = true;
  readonly sent: WireMessage[] = [];
  readonly #listeners: ((connected: boolean) => void)[] = [];
  listener: (message: WireMessage) => void = () => undefined;

  onConnection(listener: (connected: boolean) => void) {
    this.#listeners.push(listener);
    return () => undefined;
  }

  connection(connected: boolean): void {
    this.connected = connected;
    for (const listener of this.#listeners) listener(connected);
  }

  publish(message: WireMessage): void {
    if (message.data === 'too large') throw new Error('the bus carries less');
    this.sent.push(message);
  }

  subscribe(_pattern: string, listener: (message: WireMessage) => void) {
    this.listener = listener;
    return () => undefined;
  }

  storeFact(): Promise<void> {
    return Promise.resolve();
  }

  watchFacts() {
    return () => undefined;
  }

  /** The parts of the journal that were sent, in order. */
  get parts(): JournalPart[] {
    const parts = this.sent.filter(({ subject }) => subject.includes('.journal.'));
    return parts.map(({ data }) => journalPartSchema.parse(JSON.parse(data)));
  }
}

let clock: ManualClock;
let transport: ScriptedTransport;
let recorder: Recorder;
let taped: TapedTransport;

beforeEach(async () => {
  clock = new ManualClock();
  transport = new ScriptedTransport();
  recorder = new Recorder({
    publisherId: { node: 'n', instance: 'prober-0', epoch: 1 },
    ...{ transport, clock, logger: silentLogger },
    ids: { hex: (bytes) => '0'.repeat(2 * bytes), fraction: () => 0 },
    soon: (step) => void clock.after(0, step),
  });
  const begun = recorder.enter('bus', {}, () => {
    taped = new TapedTransport(recorder, 'n', transport);
  });
  await run();
  await begun;
});

/** Runs everything that is ready, and then what becomes due within `ms` milliseconds. */
async function run(ms = 0): Promise<void> {
  for (const wait of [0, ms]) {
    await clock.advance(wait);
    // A turn ends with a tick.
    await new Promise((resolve) => process.nextTick(resolve));
    await settled();
  }
}

function message(number: number, data = '{}'): WireMessage {
  const headers = {
    ...{ [HEADER.type]: 'sync.fact.pod/1', [HEADER.source]: 'prober-0', [HEADER.epoch]: '1', [HEADER.node]: 'n' },
    ...{ [HEADER.seq]: String(number), [HEADER.time]: '2030-01-01T00:00:00.000000Z' },
    [HEADER.trace]: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`,
  };
  return { subject: 'kubus.n.x', headers, data };
}

describe('the journal', () => {
  test('sends what a message depends on before the message', async () => {
    void recorder.enter('go', null, () => {
      tapedClock(recorder, clock).now();
      taped.publish(message(1));
    });
    await run();
    const [part, sent] = transport.sent.slice(-2);
    expect(part?.subject).toBe('kubus.n.service.event.journal.prober-0');
    expect(part?.headers[HEADER.source]).toBe('prober-0-journal');
    expect(sent).toEqual(message(1));
    expect(transport.parts.at(-1)?.items.slice(-3)).toEqual([['in', 0, ['go', null]], expect.any(Number), ['out', 1]]);
  });

  test('refers to a received message by its id; one without an id is kept whole', async () => {
    void recorder.enter('go', null, () => taped.subscribe('x', () => undefined));
    await run();
    const nameless = { subject: 'x', headers: {}, data: 'what?' };
    transport.listener({ ...message(7), reply: 'answer.me' });
    transport.listener(nameless);
    await run(1_000);
    const items = transport.parts.flatMap((part) => part.items);
    expect(items.slice(-2)).toEqual([
      ['message', 2, 'prober-0.1.7', 'answer.me'],
      ['message', 2, nameless],
    ]);
  });

  test('processes each input in a separate turn: what it makes ready runs before the next one', async () => {
    const order: string[] = [];
    void recorder.enter('go', null, () =>
      taped.subscribe('x', ({ data }) => {
        order.push(data);
        void Promise.resolve().then(() => order.push(`after ${data}`));
      }),
    );
    await run();
    transport.listener(message(1, '1'));
    transport.listener(message(2, '2'));
    await run();
    expect(order).toEqual(['1', 'after 1', '2', 'after 2']);
  });

  test('is sent after a while if there are no messages', async () => {
    await run(400);
    const before = transport.parts.length;
    await run(200);
    expect(transport.parts.length).toBe(before + 1);
  });

  test('records what the bus refuses, and passes on the error', async () => {
    const refused = recorder.enter('go', null, () => taped.publish(message(1, 'too large')));
    const outcome = expect(refused).rejects.toThrow('the bus carries less');
    await run(1_000);
    await outcome;
    expect(transport.parts.flatMap((part) => part.items)).toContainEqual(['threw', 'the bus carries less']);
  });

  test('sends parts again that may have been lost with a connection, with their numbers', async () => {
    await run(5_000);
    const old = transport.parts.length;
    void recorder.enter('go', 1, () => undefined);
    await run(600);
    transport.connection(false);
    void recorder.enter('go', 2, () => undefined);
    await run(600);
    expect(transport.parts.map(({ part }) => part)).toEqual([...Array(old + 1).keys()]);
    transport.connection(true);
    await run(1_000);
    const again = transport.parts.slice(old + 1).map(({ part }) => part);
    expect(again.slice(0, 2)).toEqual([old, old + 1]);
  });

  test('does not attribute actions outside a turn to the instance', async () => {
    await run(1_000);
    const before = transport.parts.length;
    tapedClock(recorder, clock).now();
    let fired = false;
    tapedClock(recorder, clock).after(10, () => (fired = true));
    await run(1_000);
    expect([fired, transport.parts.length]).toEqual([true, before]);
    taped.publish(message(9));
    expect(transport.parts.at(-1)?.items).toEqual([['stray', 9]]);
  });
});
