// A server with the commands of bus-fixture.ts, and what its tests look at.
import { HEADER, type WireMessage } from '@kubus/bus';
import { KubusError } from '@kubus/ports';
import { fence, look, paint, self, type world } from './bus-fixture.ts';

export type World = ReturnType<typeof world>;
type Process = ReturnType<World['join']>;

/** A server whose `paint` waits after `gate` until `open` is called, and that records its runs. */
export function server(w: World, epoch = 1, options: { fencesFirst?: () => number | undefined } = {}) {
  const { bus, connection } = w.join('cri-bridge', epoch);
  const runs: string[] = [];
  const gates: (() => void)[] = [];
  let gated = false;
  bus.serve(
    paint,
    async (command) => {
      const { request, key } = command;
      if (gated) await new Promise<void>((resolve) => gates.push(resolve));
      if (!command.begin()) throw new KubusError('dropped', 'dropped');
      if (request.color === 'invisible')
        throw new KubusError('no-such-color', 'there is no such color', { context: { key } });
      runs.push(`${key}:${request.color}`);
      return { painted: request.color };
    },
    options,
  );
  bus.serve(fence, async ({ key, source, request }) => {
    await bus.fence(key, source, request.hold);
    return {};
  });
  let looks = 0;
  bus.serve(look, () => Promise.resolve({ seen: ++looks }));
  bus.announce(self);
  return {
    bus,
    connection,
    runs,
    gate: () => (gated = true),
    open: () => {
      gated = false;
      for (const resolve of gates.splice(0)) resolve();
    },
  };
}

export async function settle<T>(w: World, promise: Promise<T>): Promise<T | Error> {
  let outcome: { value: T | Error } | undefined;
  promise.then(
    (value) => (outcome = { value }),
    (error: unknown) => (outcome = { value: error as Error }),
  );
  await w.until(() => outcome !== undefined);
  if (outcome === undefined) throw new Error('unreachable');
  return outcome.value;
}

/** Status and payload of every reply to a command from now on. */
export function repliesOf(w: World, name: string): [string | undefined, string][] {
  const replies: [string | undefined, string][] = [];
  w.broker.observe(({ headers, data }) => {
    if (headers[HEADER.type] === `runtime.reply.${name}/1`) replies.push([headers[HEADER.status], data]);
  });
  return replies;
}

/** The messages from now on whose subjects include `part`. */
export function messagesOn(w: World, part: string): WireMessage[] {
  const messages: WireMessage[] = [];
  w.broker.observe((message) => (message.subject.includes(part) ? messages.push(message) : 0));
  return messages;
}

export async function fenced(w: World, client: Process, number = 1) {
  await settle(w, client.bus.call(fence, 'pod-1', { hold: number }));
  return client.bus.fencingToken('pod-1', number);
}
