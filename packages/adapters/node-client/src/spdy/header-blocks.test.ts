import { expect, test } from '@jest/globals';
import { constants, inflateSync } from 'node:zlib';
import { HeaderBlocks } from './header-blocks.ts';
import { dictionary } from '../../test/spdy/dictionary.ts';

/** The layout of a block in the draft: the number of pairs, then each text after its length. */
function decode(bytes: Buffer): [string, string][] {
  let at = 0;
  const number = () => bytes.readUInt32BE((at += 4) - 4);
  const word = () => {
    const length = number();
    return bytes.toString('utf8', at, (at += length));
  };
  const pairs = Array.from({ length: number() }, (): [string, string] => [word(), word()]);
  expect(at).toBe(bytes.length);
  return pairs;
}

test('blocks form one zlib stream that can be decoded with the dictionary of the draft after each block', () => {
  const blocks = new HeaderBlocks();
  const sets: Record<string, string>[] = [
    { streamtype: 'error' },
    { streamtype: 'data', port: '80', requestid: '0' },
    { long: 'x'.repeat(70_000) },
  ];
  let sent = Buffer.alloc(0);
  let read = 0;
  for (const headers of sets) {
    sent = Buffer.concat([sent, blocks.encode(headers)]);
    const plain = inflateSync(sent, { dictionary, finishFlush: constants.Z_SYNC_FLUSH });
    expect(decode(plain.subarray(read))).toEqual(Object.entries(headers));
    read = plain.length;
  }
});
