import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { FIN, FRAME, FrameReader, type Received, controlFrame, dataHead, rstStream } from './frames.ts';

/** The frames of these pieces, with consecutive data of one stream joined. */
function received(pieces: readonly Buffer[]): Received[] {
  const reader = new FrameReader();
  const all: Received[] = [];
  for (const piece of pieces) {
    for (const frame of reader.read(piece)) {
      const last = all.at(-1);
      if (frame.kind === 'data' && last?.kind === 'data' && last.stream === frame.stream && !last.fin) {
        all[all.length - 1] = { ...frame, bytes: Buffer.concat([last.bytes, frame.bytes]) };
      } else all.push(frame);
    }
  }
  return all;
}

const data = (stream: number, text: string, flags = 0) =>
  Buffer.concat([dataHead(stream, Buffer.byteLength(text), flags), Buffer.from(text)]);

test('are the same however the bytes are split', () => {
  const bytes = Buffer.concat([
    data(1, 'hello '),
    data(1, 'world', FIN),
    rstStream(3),
    data(5, ''),
    data(7, '', FIN),
    controlFrame(FRAME.ping, 0, Buffer.from([0, 0, 0, 2])),
  ]);
  const whole = received([bytes]);
  expect(whole).toMatchObject([
    { kind: 'data', stream: 1, bytes: Buffer.from('hello world'), fin: true },
    { kind: 'control', type: 3, payload: Buffer.from([0, 0, 0, 3, 0, 0, 0, 5]) },
    { kind: 'data', stream: 5, bytes: Buffer.alloc(0), fin: false },
    { kind: 'data', stream: 7, bytes: Buffer.alloc(0), fin: true },
    { kind: 'control', type: 6, payload: Buffer.from([0, 0, 0, 2]) },
  ]);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      expect(received(pieces)).toEqual(whole);
    }),
  );
});

test.each([
  ['another version', Buffer.from([0x80, 2, 0, 6, 0, 0, 0, 0]), 'version 2'],
  ['a control frame without end', Buffer.from([0x80, 3, 0, 2, 0, 0xff, 0xff, 0xff]), 'too long'],
])('%s is refused', (_, bytes, message) => {
  expect(() => received([bytes])).toThrow(message);
});
