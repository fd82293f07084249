// Decompressing returns the same text, however much longer it is than the one before.
import { expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Compression } from '../src/metrics/compression.ts';

test.each([
  ['texts of many lengths', [0, 10, 100_000, 3_000_000, 5, 200_000, 210_000]],
  ['a growing text', [1_000, 2_000_000, 2_100_000, 4_000_000]],
])('%s', async (_what, lengths) => {
  const compression = new Compression();
  for (const length of lengths) {
    const text = Buffer.from(randomBytes(length).toString('hex'));
    const { bytes, release } = await compression.compress(text);
    expect(gunzipSync(bytes).equals(text)).toBe(true);
    release();
    expect(bytes).toHaveLength(0);
  }
});

test('two concurrent texts do not share memory', async () => {
  const compression = new Compression();
  const texts = ['a', 'b'].map((letter) => Buffer.from(letter.repeat(100_000)));
  const [first, second] = await Promise.all(texts.map((text) => compression.compress(text)));
  first?.release();
  expect(second && gunzipSync(second.bytes).equals(texts[1] ?? Buffer.alloc(0))).toBe(true);
});
