import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type PullCheck,
  type PullSecret,
  type PulledRecord,
  type Verification,
  learnSecrets,
  pullCheck,
  recordPull,
  recordUnknown,
} from '../src/index.ts';

const name = 'r.io/team/app';
const imageRef = 'sha256:1';
const secret = (id: string, hash = `hash of ${id}`): PullSecret => ({
  uid: `uid-${id}`,
  namespace: 'n',
  name: id,
  hash,
});
const account = (id: string): PullSecret => ({ uid: `uid-${id}`, namespace: 'n', name: id });
const preloaded: Verification = { policy: 'NeverVerifyPreloadedImages', allowlist: [] };
const open = recordPull(undefined, { imageRef, name, secret: undefined });
const withA = recordPull(undefined, { imageRef, name, secret: secret('a') });
const withAccount = recordPull(undefined, { imageRef, name, secret: account('a') });

describe('the check of an existing image', () => {
  test.each<[string, PulledRecord | undefined, boolean, readonly PullSecret[], PullCheck]>([
    ['that this node did not pull', undefined, false, [], 'credentialPolicyAllowed'],
    ['whose pull has an unknown result', undefined, true, [secret('a')], 'mustAuthenticate'],
    [
      'whose record has only an unknown result',
      recordUnknown(undefined, imageRef),
      false,
      [secret('a')],
      'mustAuthenticate',
    ],
    ['that was pulled without a Secret', open, false, [], 'credentialRecordFound'],
    [
      'that was pulled under another name',
      recordPull(undefined, { imageRef, name: 'r.io/x', secret: undefined }),
      false,
      [],
      'mustAuthenticate',
    ],
    ['that was pulled with a Secret, for a pod without one', withA, false, [], 'mustAuthenticate'],
    ['for a pod with the same Secret', withA, false, [secret('a')], 'credentialRecordFound'],
    ['for a pod with another Secret', withA, false, [secret('b')], 'mustAuthenticate'],
    [
      'for a pod with another Secret with the same content',
      withA,
      false,
      [secret('b', 'hash of a')],
      'credentialRecordFound',
    ],
    ['for a pod with the same Secret with new content', withA, false, [secret('a', 'new')], 'credentialRecordFound'],
    [
      'that was pulled with a service account, for a pod with that account',
      withAccount,
      false,
      [account('a')],
      'credentialRecordFound',
    ],
    [
      'that was pulled with a service account, for a pod with another one',
      withAccount,
      false,
      [account('b')],
      'mustAuthenticate',
    ],
    ['for a pod with several Secrets', withA, false, [secret('b'), secret('a')], 'credentialRecordFound'],
  ])('of one %s', (_what, record, pullBegan, podSecrets, expected) => {
    expect(pullCheck({ name, record, pullBegan, podSecrets }, preloaded)).toBe(expected);
  });

  test.each<[Verification['policy'], readonly string[], PulledRecord | undefined, PullCheck]>([
    ['NeverVerify', [], withA, 'credentialPolicyAllowed'],
    ['AlwaysVerify', [], undefined, 'mustAuthenticate'],
    ['AlwaysVerify', [], open, 'credentialRecordFound'],
    ['NeverVerifyAllowlistedImages', [], undefined, 'mustAuthenticate'],
    ['NeverVerifyAllowlistedImages', ['r.io/team/app'], withA, 'credentialPolicyAllowed'],
    ['NeverVerifyAllowlistedImages', ['r.io/team/*'], undefined, 'credentialPolicyAllowed'],
    ['NeverVerifyAllowlistedImages', ['r.io/team'], undefined, 'mustAuthenticate'],
    ['NeverVerifyAllowlistedImages', ['r.io/te/*'], undefined, 'mustAuthenticate'],
  ])('under the policy %s with the allowlist %j', (policy, allowlist, record, expected) => {
    expect(pullCheck({ name, record, pullBegan: false, podSecrets: [] }, { policy, allowlist })).toBe(expected);
  });
});

describe('the record of an image', () => {
  test('adds Secrets that were allowed', () => {
    const moved = learnSecrets(withA, name, [secret('b', 'hash of a')]);
    expect(moved.names[name]?.secrets).toEqual([secret('a'), secret('b', 'hash of a')]);
    const changed = learnSecrets(withA, name, [secret('a', 'new')]);
    expect(changed.names[name]?.secrets).toEqual([secret('a', 'new')]);
    for (const useless of [[secret('a')], [secret('c')], []]) expect(learnSecrets(withA, name, useless)).toBe(withA);
    expect(learnSecrets(open, name, [secret('a')])).toBe(open);
  });

  test('stays open to every pod once it was', () => {
    expect(recordPull(open, { imageRef, name, secret: secret('a') })).toBe(open);
    expect(recordPull(withA, { imageRef, name, secret: undefined }).names[name]).toEqual({
      everybody: true,
      secrets: [],
    });
  });

  test('never allows a pod whose Secret neither pulled the image nor has the content of one that did', () => {
    const secrets = fc.constantFrom('a', 'b', 'c', 'd');
    fc.assert(
      fc.property(fc.array(secrets, { minLength: 1 }), fc.array(secrets), secrets, (pulled, used, asks) => {
        let record: PulledRecord | undefined;
        for (const one of pulled) record = recordPull(record, { imageRef, name, secret: secret(one) });
        for (const one of used) record = record && learnSecrets(record, name, [secret(one)]);
        const check = pullCheck({ name, record, pullBegan: false, podSecrets: [secret(asks)] }, preloaded);
        expect(check).toBe(pulled.includes(asks) ? 'credentialRecordFound' : 'mustAuthenticate');
      }),
    );
  });
});
