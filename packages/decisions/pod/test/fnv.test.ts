import { expect, test } from '@jest/globals';
import { fnv128a } from '../src/index.ts';

// From draft-eastlake-fnv and the test vectors of the Go library's hash/fnv.
test.each([
  ['', '6c62272e07bb014262b821756295c58d'],
  ['a', 'd228cb696f1a8caf78912b704e4a8964'],
  ['ab', '08809544bbab1be95aa0733055b69a62'],
  ['abc', 'a68d622cec8b5822836dbc7977af7f3b'],
  ['foobar', '343e1662793c64bf6f0d3597ba446f18'],
])('fnv128a(%j) equals the test vector', (text, hash) => expect(fnv128a(text)).toBe(hash));

test('fnv128a hashes UTF-8 bytes, not characters', () => {
  const reference = (text: string) => {
    let hash = 0x6c62272e07bb014262b821756295c58dn;
    for (const [, hex, plain] of encodeURIComponent(text).matchAll(/%(..)|(.)/g)) {
      const byte = hex === undefined ? (plain ?? '').charCodeAt(0) : Number.parseInt(hex, 16);
      hash = ((hash ^ BigInt(byte)) * (2n ** 88n + 0x13bn)) % 2n ** 128n;
    }
    return hash.toString(16).padStart(32, '0');
  };
  for (const text of ['ü', '€ 日本', '😀x', '\u007f\u0080\u07ff\u0800\uffff'])
    expect(fnv128a(text)).toBe(reference(text));
});
