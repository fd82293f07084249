import { expect, test } from '@jest/globals';
import { SealKey } from './seal-key.ts';

const [writer, reader, other] = [new SealKey(), new SealKey(), new SealKey()];
const url = 'http://127.0.0.1:1/exec/täglich';

test('a text is readable by its reader alone, and differs each time', () => {
  const sealed = writer.seal(url, reader.publicKey);
  expect(reader.open(sealed)).toBe(url);
  expect(JSON.stringify(sealed)).not.toContain('exec');
  expect(writer.seal(url, reader.publicKey).box).not.toBe(sealed.box);
  expect(() => other.open(sealed)).toThrow('for another reader');
});

test('a text that was changed, or comes from somebody else, is not opened', () => {
  const sealed = writer.seal(url, reader.publicKey);
  const bytes = Buffer.from(sealed.box, 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  expect(() => reader.open({ ...sealed, box: bytes.toString('base64') })).toThrow('was changed');
  expect(() => reader.open({ ...sealed, by: other.publicKey })).toThrow('was changed');
  expect(() => reader.open({ ...sealed, by: 'X' })).toThrow('no key');
  expect(() => reader.open({ ...sealed, box: '' })).toThrow(/was changed|no key/);
});

test.each(['', 'x', 'XAAA', 'UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4'])(
  'nothing is sealed for "%s"',
  (key) => expect(() => writer.seal(url, key)).toThrow('cannot be sealed'),
);
