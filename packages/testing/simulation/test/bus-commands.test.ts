import { CommandFailed, CommandRefused, HEADER, PeerRestarted, UndeclaredError } from '@kubus/bus';
import { describe, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import fc from 'fast-check';
import { type Weather, calm } from '../src/index.ts';
import { color, dried, fence, look, paint, self, world } from './bus-fixture.ts';
import { type World, fenced, messagesOn, repliesOf, server, settle } from './commands-fixture.ts';

/** A command that is running when its server is killed, `ms` milliseconds after it was sent. */
async function cutOff(w: World, ms: number) {
  const first = server(w, 1);
  const client = w.join('pod-workers');
  const token = await fenced(w, client);
  first.gate();
  const painting = client.bus
    .call(paint, 'pod-1', { color: 'red' }, { fencingToken: token })
    .catch((error: unknown) => error);
  await w.quiet(ms);
  first.connection.kill();
  return { first, client, painting };
}

describe('commands', () => {
  test('run once and return the result', async () => {
    const w = world();
    const { runs } = server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    const answer = await settle(w, client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }));
    expect(answer).toMatchObject({ result: { painted: 'red' } });
    expect(runs).toEqual(['pod-1:red']);
  });

  test('one that is done at once is answered once', async () => {
    const w = world();
    server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    const replies = repliesOf(w, 'paint');
    await settle(w, client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }));
    await w.quiet();
    expect(replies).toEqual([['done', '{"painted":"red"}']]);
  });

  test('one that takes longer than 200 ms is answered before it is done, and again when it is sent again', async () => {
    const w = world();
    const { runs, gate, open } = server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    const replies = repliesOf(w, 'paint');
    const copies = messagesOn(w, '.cmd.paint.');
    gate();
    const painting = client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token });
    await w.quiet(190);
    expect(replies).toEqual([]);
    await w.quiet(20);
    expect(replies).toEqual([['accepted', '{"status":"accepted"}']]);
    for (const copy of [...copies]) w.broker.publish(copy);
    await w.quiet(100);
    open();
    await settle(w, painting);
    expect(replies).toEqual([
      ['accepted', '{"status":"accepted"}'],
      ['attached', '{"status":"attached"}'],
      ['done', '{"painted":"red"}'],
    ]);
    expect(runs).toEqual(['pod-1:red']);
  });

  test('a lost result is asked for again after a second', async () => {
    const w = world();
    const { runs } = server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    let lost = false;
    w.broker.weather = {
      ...calm(),
      message: ({ subject }) => {
        if (lost || !subject.includes('.reply.')) return [1];
        lost = true;
        return [];
      },
    };
    const began = w.scheduler.elapsed();
    const answer = await settle(w, client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }));
    expect(answer).toMatchObject({ result: { painted: 'red' } });
    expect(lost).toBe(true);
    expect(w.scheduler.elapsed() - began).toBeLessThan(1_100);
    expect(runs).toEqual(['pod-1:red']);
  });

  test('a server that restarts before it has answered refuses the fenced command of its earlier life', async () => {
    const w = world();
    const { first, painting } = await cutOff(w, 100);
    const second = server(w, 2);
    expect(await settle(w, painting)).toMatchObject({ code: 'not-fenced' });
    expect([...first.runs, ...second.runs]).toEqual([]);
  });

  test('a command that is repeated to a later start of its server is void', async () => {
    const w = world();
    const first = server(w, 1);
    const client = w.join('pod-workers');
    const copies = messagesOn(w, '.cmd.look.');
    const replies = repliesOf(w, 'look');
    await settle(w, client.bus.call(look, 'x', {}));
    first.connection.kill();
    server(w, 2);
    await w.quiet();
    for (const copy of [...copies]) w.broker.publish(copy);
    await w.quiet();
    expect(replies).toEqual([['done', '{"seen":1}']]);
  });

  test('a fencing token has a bound, so that a greater one is always possible', async () => {
    const w = world();
    server(w);
    const client = w.join('pod-workers');
    expect(await settle(w, client.bus.call(fence, 'pod-1', { hold: 2 ** 53 }))).toMatchObject({ code: 'bad-token' });
    expect(await settle(w, client.bus.call(fence, 'pod-1', { hold: 5 }))).toMatchObject({ result: {} });
  });

  test('failures arrive with their code and context', async () => {
    const w = world();
    server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    const error = await settle(w, client.bus.call(paint, 'pod-1', { color: 'invisible' }, { fencingToken: token }));
    expect(error).toBeInstanceOf(CommandFailed);
    expect(error).toMatchObject({ code: 'no-such-color', context: { key: 'pod-1' } });
  });

  test('a wrong payload is refused, counted and does not stop the server', async () => {
    const w = world();
    const { bus, runs } = server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    const wrong = { color: 7 } as unknown as { color: string };
    const error = await settle(w, client.bus.call(paint, 'pod-1', wrong, { fencingToken: token }));
    expect(error).toBeInstanceOf(CommandRefused);
    expect(error).toMatchObject({ code: 'invalid' });
    expect(bus.refused).toBe(1);
    await settle(w, client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }));
    expect(runs).toEqual(['pod-1:red']);
  });

  test('without the fencing token of its pod a command is refused', async () => {
    const w = world();
    const { runs } = server(w);
    const client = w.join('pod-workers');
    const error = await settle(
      w,
      client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: client.bus.fencingToken('pod-1', 1) }),
    );
    expect(error).toMatchObject({ code: 'not-fenced' });
    expect(runs).toEqual([]);
  });

  test('a fence drops queued commands, awaits running ones, and refuses the earlier owner', async () => {
    const w = world();
    const { runs, gate, open } = server(w);
    const first = w.join('pod-workers', 1);
    const token = await fenced(w, first, 1);
    gate();
    void first.bus.call(paint, 'pod-1', { color: 'queued' }, { fencingToken: token }).catch(() => undefined);
    await w.quiet(100);
    first.connection.kill();
    const second = w.join('pod-workers', 2);
    await fenced(w, second, 2);
    open();
    await w.quiet();
    expect(runs).toEqual([]);
    const late = w.join('pod-workers', 1);
    const error = await settle(
      w,
      late.bus.call(paint, 'pod-1', { color: 'late' }, { fencingToken: late.bus.fencingToken('pod-1', 1) }),
    );
    expect(error).toMatchObject({ code: 'fenced-off' });
    const loser = await settle(w, late.bus.call(fence, 'pod-1', { hold: 1 }));
    expect(loser).toMatchObject({ code: 'outdated' });
  });

  test('the first one for a pod may fence it; a later owner fences it as usual', async () => {
    const w = world();
    const { runs } = server(w, 1, { fencesFirst: () => 0 });
    const first = w.join('pod-workers', 1);
    const token = first.bus.fencingToken('pod-1', 5);
    await settle(w, first.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }));
    const second = w.join('pod-workers', 1, 1);
    const late = second.bus.fencingToken('pod-1', 6);
    const refused = await settle(w, second.bus.call(paint, 'pod-1', { color: 'blue' }, { fencingToken: late }));
    expect(refused).toMatchObject({ code: 'fenced-off' });
    await settle(w, second.bus.call(fence, 'pod-1', { hold: 7 }));
    const now = second.bus.fencingToken('pod-1', 7);
    await settle(w, second.bus.call(paint, 'pod-1', { color: 'green' }, { fencingToken: now }));
    const lost = await settle(w, first.bus.call(paint, 'pod-1', { color: 'black' }, { fencingToken: token }));
    expect(lost).toMatchObject({ code: 'fenced-off' });
    expect(runs).toEqual(['pod-1:red', 'pod-1:green']);
  });

  test('a late duplicate of the first one for a pod that was forgotten since fences nothing', async () => {
    const w = world();
    const { runs } = server(w, 1, { fencesFirst: () => 0 });
    const client = w.join('pod-workers');
    const copies = messagesOn(w, '.cmd.paint.pod-1.');
    const call = (pod: string, number: number) =>
      client.bus.call(paint, pod, { color: 'red' }, { fencingToken: client.bus.fencingToken(pod, number) });
    await settle(w, call('pod-1', 1));
    // More pods than the server keeps.
    await settle(w, Promise.all(Array.from({ length: 300 }, (_, index) => call(`other-${index}`, 2 + index))));
    for (const copy of [...copies]) w.broker.publish(copy);
    await w.quiet();
    expect(runs.filter((run) => run.startsWith('pod-1:'))).toEqual(['pod-1:red']);
    await settle(w, call('pod-1', 10_000));
    expect(runs.filter((run) => run.startsWith('pod-1:'))).toEqual(['pod-1:red', 'pod-1:red']);
  });

  test('what is used is not forgotten, however many pods come and go', async () => {
    const w = world();
    const { runs } = server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    const copies = messagesOn(w, '.cmd.');
    const use = async () => {
      await settle(w, client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }));
      return settle(w, client.bus.call(look, 'x', {}));
    };
    await use();
    const late = [...copies];
    for (let round = 0; round < 3; round++) {
      const others = Array.from({ length: 100 }, (_, index) => `other-${round}-${index}`);
      await settle(w, Promise.all(others.map((pod) => client.bus.call(fence, pod, { hold: 1 }))));
      for (const copy of late) w.broker.publish(copy);
      await w.quiet();
      await use();
    }
    expect(runs).toEqual(Array.from({ length: 4 }, () => 'pod-1:red'));
    expect(await use()).toMatchObject({ result: { seen: 5 } });
  });

  test('when the server restarts, fenced commands fail and the others are sent again', async () => {
    const w = world();
    const { client, painting } = await cutOff(w, 300);
    const looking = client.bus.call(look, 'x', {});
    await w.quiet(2_000);
    server(w, 2);
    expect(await settle(w, painting)).toBeInstanceOf(PeerRestarted);
    expect(await settle(w, looking)).toMatchObject({ result: { seen: 1 } });
  });

  test('a call during an outage of the broker waits for its end', async () => {
    const w = world();
    const { runs } = server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    w.broker.crash();
    const painting = client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token });
    await w.quiet();
    w.broker.start();
    expect(await settle(w, painting)).toMatchObject({ result: { painted: 'red' } });
    expect(runs).toEqual(['pod-1:red']);
  });

  test('a duplicate that arrives after its result was read does not run again', async () => {
    const w = world();
    const { runs } = server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    const copies = messagesOn(w, '.cmd.paint.');
    await settle(w, client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }));
    await settle(w, client.bus.call(paint, 'pod-1', { color: 'green' }, { fencingToken: token }));
    for (const copy of [...copies]) w.broker.publish(copy);
    await w.quiet();
    expect(runs).toEqual(['pod-1:red', 'pod-1:green']);
  });

  test('every command runs exactly once under loss, duplication and reordering', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const w = world(seed);
        const { runs } = server(w);
        const client = w.join('pod-workers');
        const token = await fenced(w, client);
        const storm: Weather = {
          fact: () => w.random.between(0, 20),
          message: () => {
            if (w.random.chance(0.3)) return [];
            const first = w.random.between(0, 40);
            return w.random.chance(0.3) ? [first, first + w.random.between(0, 5_000)] : [first];
          },
        };
        w.broker.weather = storm;
        const colors = ['red', 'green', 'blue', 'white', 'black'];
        let done = 0;
        for (const one of colors) {
          void client.bus.call(paint, 'pod-1', { color: one }, { fencingToken: token }).then(() => (done += 1));
          await w.quiet(w.random.between(0, 50));
          if (w.random.chance(0.2)) w.broker.glitch(client.connection);
        }
        await w.until(() => done === colors.length);
        await w.quiet(20_000);
        expect([...runs].sort()).toEqual(colors.map((one) => `pod-1:${one}`).sort());
      }),
      { numRuns: 200 },
    );
  });
});

describe('events and contracts', () => {
  test('an event reaches its subscribers, with causes and trace context', async () => {
    const w = world();
    const { bus } = server(w);
    const client = w.join('pod-workers');
    const received: unknown[] = [];
    client.bus.subscribe(dried, ({ payload, key }) => received.push([key, payload]));
    const messages = messagesOn(w, '');
    await w.quiet();
    const first = bus.emit(dried, 'pod-1', { at: 1 });
    bus.emit(dried, 'pod-1', { at: 2 }, { causes: [first] });
    await w.quiet();
    expect(received).toEqual([
      ['pod-1', { at: 1 }],
      ['pod-1', { at: 2 }],
    ]);
    const [one, two] = messages.filter((message) => message.subject === 'kubus.n.runtime.event.dried.pod-1');
    expect(two?.headers[HEADER.causes]).toBe(first.id);
    expect(two?.headers[HEADER.trace]?.slice(3, 35)).toBe(one?.headers[HEADER.trace]?.slice(3, 35));
    expect(one?.headers).toMatchObject({ [HEADER.pod]: 'pod-1', [HEADER.type]: 'runtime.event.dried/1' });
  });

  test('only declared messages can be used, and declared commands must be served', () => {
    const w = world();
    const { bus } = w.join('cri-bridge');
    expect(() => bus.owner(color)).toThrow(UndeclaredError);
    expect(() => bus.announce(self)).toThrow(/runtime.cmd.fence/);
  });

  test('a message above the size limit of the bus fails its call', async () => {
    const w = world();
    server(w);
    const client = w.join('pod-workers');
    const token = await fenced(w, client);
    client.connection.publish = () => {
      throw new KubusError('too-large', 'the message has 9000000 bytes, the bus carries 8388608');
    };
    expect(await settle(w, client.bus.call(paint, 'pod-1', { color: 'red' }, { fencingToken: token }))).toMatchObject({
      code: 'too-large',
    });
    w.broker.weather = calm();
  });
});
