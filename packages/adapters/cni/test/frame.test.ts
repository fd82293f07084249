import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FRAME_LIMIT, FrameError, FrameReader, encodeFrame } from '../src/frame.ts';

const fields = fc.array(
  fc.record({ tag: fc.constantFrom('n', 'e', 'i', 'z'), value: fc.uint8Array().map((bytes) => Buffer.from(bytes)) }),
);

describe('FrameReader', () => {
  test('reads what was written, however the bytes are split', () => {
    fc.assert(
      fc.property(fields, fc.array(fc.nat()), (written, cuts) => {
        const frame = encodeFrame(written);
        const places = [0, ...cuts.map((cut) => cut % frame.length).sort((a, b) => a - b), frame.length];
        const reader = new FrameReader();
        const read = places.slice(1).flatMap((end, index) => {
          const part = frame.subarray(places[index], end);
          return part.length === 0 ? [] : [reader.push(part)];
        });
        expect(read.pop()).toEqual(written);
        expect(read.every((answer) => answer === undefined)).toBe(true);
      }),
    );
  });

  test('bytes that are not a frame are refused', () => {
    const frame = encodeFrame([{ tag: 'n', value: 'name' }]);
    const changed = (at: number, value: number) =>
      Buffer.from(frame.map((byte, index) => (index === at ? value : byte)));
    const cases: [Buffer, RegExp][] = [
      [Buffer.from('G'), /not of this protocol/],
      [Buffer.from('GET / HTTP/1.1\r\n'), /not of this protocol/],
      [changed(3, 2), /another version/],
      [changed(4, 255), /is larger than 4194304/],
      [Buffer.concat([frame, Buffer.from('x')]), /bytes follow the frame/],
      [changed(12, 200), /a field is longer than its frame/],
      [changed(7, 3).subarray(0, 11), /a field is longer than its frame/],
    ];
    for (const [bytes, message] of cases) {
      expect(() => new FrameReader().push(bytes)).toThrow(message);
    }
  });

  test('arbitrary bytes give fields, no result yet, or a FrameError', () => {
    const header = fc.uint8Array().map((bytes) => Buffer.concat([Buffer.from('KCN\u0001\0\0\0'), bytes]));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array().map((bytes) => Buffer.from(bytes)),
          header,
        ),
        (bytes) => {
          try {
            new FrameReader().push(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(FrameError);
          }
        },
      ),
    );
  });
});

test('a frame that is too large is not written', () => {
  expect(() => encodeFrame([{ tag: 'i', value: Buffer.alloc(FRAME_LIMIT) }])).toThrow(FrameError);
});
