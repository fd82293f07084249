import { describe, expect, test } from '@jest/globals';
import { createAccount, createUser, fromPublic, fromSeed } from '@nats-io/nkeys';
import fc from 'fast-check';
import { createUserKey, publicKeyOf, seedAuthenticator } from '../src/nkey.ts';

const encoder = new TextEncoder();
const seedOf = (pair: ReturnType<typeof createUser>) => new TextDecoder().decode(pair.getSeed());

describe('the key of an identity', () => {
  test('is one that the library of NATS made, and the other way round', () => {
    const theirs = createUser();
    expect(publicKeyOf(seedOf(theirs))).toBe(theirs.getPublicKey());
    const ours = createUserKey();
    expect(fromSeed(encoder.encode(ours.seed)).getPublicKey()).toBe(ours.publicKey);
    expect([ours.publicKey.length, ours.seed.length]).toEqual([56, 58]);
  });

  test('signs what the library verifies', () => {
    const { publicKey, seed } = createUserKey();
    const { nkey, sig } = { nkey: '', sig: '', ...seedAuthenticator(seed)('a nonce') };
    expect(nkey).toBe(publicKey);
    const verifies = (text: string) => fromPublic(publicKey).verify(encoder.encode(text), Buffer.from(sig, 'base64'));
    expect([verifies('a nonce'), verifies('another')]).toEqual([true, false]);
    expect(seedAuthenticator(seed)()).toEqual({ nkey: publicKey, sig: '' });
  });

  test.each([
    ['nothing', ''],
    ['a key of an account', seedOf(createAccount())],
    ['a public key', createUser().getPublicKey()],
    ['lower case', createUserKey().seed.toLowerCase()],
    ['a part of a seed', createUserKey().seed.slice(0, -3)],
  ])('is not made of %s', (_what, text) => {
    expect(() => publicKeyOf(text)).toThrow('this is not the seed of an nkey of a user, or it is damaged');
  });

  test('is refused with any character changed', () => {
    const { seed } = createUserKey();
    const character = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.split(''));
    fc.assert(
      fc.property(fc.nat(seed.length - 2), character, (at, other) => {
        fc.pre(seed[at] !== other);
        const changed = seed.slice(0, at) + other + seed.slice(at + 1);
        expect(() => publicKeyOf(changed)).toThrow('damaged');
      }),
    );
  });
});
