import { type KeyObject, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { KubusError } from '@kubus/ports';
import type { Authenticator } from '@nats-io/nats-core';

/**
 * User keys of NATS (nkeys): an Ed25519 key pair, as text with a prefix and a checksum in base32. NATS's own library for them computes
 * Ed25519 in JavaScript, which takes 35 ms in each start of a process; Node.js has it natively. The test compares both.
 *
 * Format: github.com/nats-io/nkeys, README.
 */

/** A user's public key starts with `U`, its seed with `SU`. */
const USER = 20 << 3;
const SEED = 18 << 3;
const KEY_BYTES = 32;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** What precedes the 32 bytes of a private key in PKCS #8 (RFC 8410, section 7). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Creates a user key. The public key has 56 characters, the seed 58. */
export function createUserKey(): { readonly publicKey: string; readonly seed: string } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const secret = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-KEY_BYTES);
  const seed = encode(Buffer.concat([Buffer.of(SEED | (USER >> 5), (USER & 0x1f) << 3), secret]));
  return { publicKey: publicText(privateKey), seed };
}

/**
 * The public key of a seed.
 *
 * @throws KubusError `bad-seed` when it is not a user's seed, or damaged; its text is not in the message.
 */
export function publicKeyOf(seed: string): string {
  return publicText(privateKeyOf(seed));
}

/**
 * Signs what the server asks a connection to sign.
 *
 * @throws KubusError `bad-seed`, as {@link publicKeyOf}.
 */
export function seedAuthenticator(seed: string): Authenticator {
  const key = privateKeyOf(seed);
  const nkey = publicText(key);
  return (nonce) => ({
    nkey,
    sig: nonce === undefined ? '' : sign(null, Buffer.from(nonce), key).toString('base64'),
  });
}

function privateKeyOf(seed: string): KeyObject {
  const bytes = decode(seed);
  const isUser =
    bytes?.length === 2 + KEY_BYTES && bytes[0] === (SEED | (USER >> 5)) && bytes[1] === (USER & 0x1f) << 3;
  if (bytes === undefined || !isUser)
    throw new KubusError('bad-seed', 'this is not the seed of an nkey of a user, or it is damaged');
  return createPrivateKey({ key: Buffer.concat([PKCS8, bytes.subarray(2)]), format: 'der', type: 'pkcs8' });
}

function publicText(key: KeyObject): string {
  const bytes = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
  return encode(Buffer.concat([Buffer.of(USER), bytes]));
}

/** Base32 without padding (RFC 4648, section 6), with the checksum behind the bytes. */
function encode(bytes: Buffer): string {
  const sum = Buffer.alloc(2);
  sum.writeUInt16LE(checksum(bytes));
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of Buffer.concat([bytes, sum])) {
    value = (value << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += ALPHABET.charAt((value >> (bits - 5)) & 0x1f);
    value &= 0x1f;
  }
  return bits === 0 ? text : text + ALPHABET.charAt((value << (5 - bits)) & 0x1f);
}

/** Undefined when the text has other characters, or another checksum. */
function decode(text: string): Buffer | undefined {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit === -1) return undefined;
    value = (value << 5) | digit;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
    value &= 0xff;
  }
  if (bytes.length < 2) return undefined;
  const all = Buffer.from(bytes);
  const content = all.subarray(0, -2);
  return checksum(content) === all.readUInt16LE(content.length) ? content : undefined;
}

/** CRC-16/XMODEM. */
function checksum(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc;
}
