import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { FIN, FRAME, FrameReader, type Received, controlFrame, dataHead, rstStream } from './frames.ts';
import { SpdySession } from './spdy-session.ts';

let server: Server;
let session: SpdySession;
/** The server's end of the connection. */
let peer: Socket;

beforeEach(async () => {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  [peer] = await accepted;
  peer.on('error', () => undefined);
  session = new SpdySession(socket, Buffer.alloc(0));
});
afterEach(async () => {
  await session.close();
  peer.destroy();
  server.close();
});

/** The frames that the server receives. */
async function* arriving(): AsyncGenerator<Received, undefined> {
  const reader = new FrameReader();
  for await (const chunk of peer) yield* reader.read(chunk as Buffer);
  return undefined;
}

const data = (stream: number, bytes: string | Buffer, flags = 0) =>
  Buffer.concat([dataHead(stream, bytes.length, flags), Buffer.from(bytes)]);

/** Echoes the data of a stream, and ends each stream that is ended. */
async function echo(): Promise<void> {
  for await (const frame of arriving()) {
    if (frame.kind === 'data') peer.write(data(frame.stream, frame.bytes, frame.fin ? FIN : 0));
  }
}

test('each stream has its own data and end', async () => {
  void echo().catch(() => undefined);
  const [first, second] = [session.open({ streamtype: 'a' }), session.open({ streamtype: 'b' })];
  expect([first.id, second.id]).toEqual([1, 3]);
  const bytes = Buffer.alloc(1_000_000, 'some bytes ');
  second.write('one');
  first.end(bytes);
  expect((await buffer(first)).equals(bytes)).toBe(true);
  second.end(' two');
  expect(await text(second)).toBe('one two');
  expect([first.cut, second.cut]).toEqual([false, false]);
});

test('data sent before the server resets a stream is delivered, and a reset differs from an end', async () => {
  const [kept, given] = [session.open({}), session.open({})];
  peer.write(Buffer.concat([data(3, 'so far'), rstStream(3), data(1, 'goes on', FIN)]));
  expect(await text(given)).toBe('so far');
  expect(given.cut).toBe(true);
  // The server does not receive it, which need not be awaited.
  await new Promise((resolve) => given.write('too late', resolve));
  expect(await text(kept)).toBe('goes on');
});

test('a stream that is reset after its end is complete', async () => {
  const stream = session.open({});
  peer.write(Buffer.concat([data(1, 'all', FIN), rstStream(1)]));
  expect(await text(stream)).toBe('all');
  peer.end();
  await session.closed;
  expect(stream.cut).toBe(false);
});

test('all streams are aborted with their connection', async () => {
  const stream = session.open({});
  peer.write(data(1, 'some'));
  await once(stream, 'readable');
  peer.destroy();
  expect(await text(stream)).toBe('some');
  expect(stream.cut).toBe(true);
  await session.closed;
  expect(() => session.open({})).toThrow('closed');
});

test('data that is not SPDY ends the connection', async () => {
  peer.write('HTTP/1.1 200 OK\r\n\r\n'.padStart(64, '\x80'));
  await session.closed;
});

test('a ping of the server is answered; unexpected ping replies are not', async () => {
  const ping = (id: number) => controlFrame(FRAME.ping, 0, Buffer.from([0, 0, 0, id]));
  peer.write(Buffer.concat([ping(1), ping(2)]));
  const { value } = await arriving().next();
  expect(value).toMatchObject({ type: FRAME.ping, payload: Buffer.from([0, 0, 0, 2]) });
});

test('a cancelled stream is reset', async () => {
  const frames = arriving();
  const stream = session.open({ streamtype: 'a' });
  expect((await frames.next()).value).toMatchObject({ type: FRAME.synStream });
  stream.destroy();
  const { value } = await frames.next();
  expect(value).toMatchObject({ type: FRAME.rstStream });
});

test('a stream that is not read pauses the connection, which continues afterwards', async () => {
  const [read, unread] = [session.open({}), session.open({})];
  const piece = Buffer.alloc(64 * 1024);
  let sent = 0;
  const full = new Promise<void>((resolve) => {
    const more = () => {
      while (peer.write(data(3, piece))) sent += piece.length;
      resolve();
    };
    more();
  });
  await full;
  peer.write(data(1, 'behind it', FIN));
  let counted = 0;
  unread.on('data', (chunk: Buffer) => (counted += chunk.length));
  expect(await text(read)).toBe('behind it');
  expect(counted).toBeGreaterThanOrEqual(sent);
});
