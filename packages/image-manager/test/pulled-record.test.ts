import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type PullSecret,
  type PulledRecord,
  type Verification,
  learnSecrets,
  mayUse,
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

describe('an image that is there', () => {
  test.each<[string, PulledRecord | undefined, boolean, readonly PullSecret[], boolean]>([
    ['that this node did not pull', undefined, false, [], true],
    ['of whose pull the end is not known', undefined, true, [secret('a')], false],
    ['of which only that is known', recordUnknown(undefined, imageRef), false, [secret('a')], false],
    ['that was pulled without a Secret', open, false, [], true],
    [
      'that was pulled under another name',
      recordPull(undefined, { imageRef, name: 'r.io/x', secret: undefined }),
      false,
      [],
      false,
    ],
    ['that was pulled with a Secret, for a pod without one', withA, false, [], false],
    ['for a pod with the same Secret', withA, false, [secret('a')], true],
    ['for a pod with another one', withA, false, [secret('b')], false],
    ['for a pod with another one of the same content', withA, false, [secret('b', 'hash of a')], true],
    ['for a pod with the same one of new content', withA, false, [secret('a', 'new')], true],
    ['that a service account has opened, for a pod with that account', withAccount, false, [account('a')], true],
    ['that a service account has opened, for a pod with another one', withAccount, false, [account('b')], false],
    ['for a pod with several', withA, false, [secret('b'), secret('a')], true],
  ])('%s', (_what, record, pullBegan, podSecrets, expected) => {
    expect(mayUse({ name, record, pullBegan, podSecrets }, preloaded)).toBe(expected);
  });

  test.each<[Verification['policy'], readonly string[], PulledRecord | undefined, boolean]>([
    ['NeverVerify', [], withA, true],
    ['AlwaysVerify', [], undefined, false],
    ['AlwaysVerify', [], open, true],
    ['NeverVerifyAllowlistedImages', [], undefined, false],
    ['NeverVerifyAllowlistedImages', ['r.io/team/app'], withA, true],
    ['NeverVerifyAllowlistedImages', ['r.io/team/*'], undefined, true],
    ['NeverVerifyAllowlistedImages', ['r.io/team'], undefined, false],
    ['NeverVerifyAllowlistedImages', ['r.io/te/*'], undefined, false],
  ])('under the policy %s %j', (policy, allowlist, record, expected) => {
    expect(mayUse({ name, record, pullBegan: false, podSecrets: [] }, { policy, allowlist })).toBe(expected);
  });
});

describe('the record of an image', () => {
  test('learns Secrets that turn out to be good', () => {
    const moved = learnSecrets(withA, name, [secret('b', 'hash of a')]);
    expect(moved.names[name]?.secrets).toEqual([secret('a'), secret('b', 'hash of a')]);
    const changed = learnSecrets(withA, name, [secret('a', 'new')]);
    expect(changed.names[name]?.secrets).toEqual([secret('a', 'new')]);
    for (const useless of [[secret('a')], [secret('c')], []]) expect(learnSecrets(withA, name, useless)).toBe(withA);
    expect(learnSecrets(open, name, [secret('a')])).toBe(open);
  });

  test('stays open to everybody once it was', () => {
    expect(recordPull(open, { imageRef, name, secret: secret('a') })).toBe(open);
    expect(recordPull(withA, { imageRef, name, secret: undefined }).names[name]).toEqual({
      everybody: true,
      secrets: [],
    });
  });

  test('never lets a pod in whose Secret neither pulled the image nor has the content of one that did', () => {
    const secrets = fc.constantFrom('a', 'b', 'c', 'd');
    fc.assert(
      fc.property(fc.array(secrets, { minLength: 1 }), fc.array(secrets), secrets, (pulled, used, asks) => {
        let record: PulledRecord | undefined;
        for (const one of pulled) record = recordPull(record, { imageRef, name, secret: secret(one) });
        for (const one of used) record = record && learnSecrets(record, name, [secret(one)]);
        const allowed = mayUse({ name, record, pullBegan: false, podSecrets: [secret(asks)] }, preloaded);
        expect(allowed).toBe(pulled.includes(asks));
      }),
    );
  });
});
