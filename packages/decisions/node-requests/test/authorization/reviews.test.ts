import { describe, expect, test } from '@jest/globals';
import { accessReview, isAllowed, reviewedUser, tokenReview } from '../../src/index.ts';

describe('a TokenReview', () => {
  test('contains the token', () => {
    expect(tokenReview('t')).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 't' },
    });
  });

  test('returns the user', () => {
    const user = { username: 'jane', uid: '1', groups: ['a'], extra: { k: ['v'] } };
    expect(reviewedUser({ status: { authenticated: true, user } })).toEqual({
      name: 'jane',
      uid: '1',
      groups: ['a', 'system:authenticated'],
      extra: { k: ['v'] },
    });
    expect(reviewedUser({ status: { authenticated: true, user: { username: 'x' } } })?.groups).toEqual([
      'system:authenticated',
    ]);
  });

  test.each([{ status: {} }, { status: { authenticated: false, user: { username: 'jane' } } }])(
    'returns no user for %j',
    (answer) => {
      expect(reviewedUser(answer)).toBeUndefined();
    },
  );

  test.each([
    {},
    undefined,
    'ok',
    { status: { authenticated: 'yes' } },
    { status: { authenticated: true } },
    { status: { authenticated: true, user: {} } },
  ])('cannot be used if the answer is %j', (answer) => {
    expect(() => reviewedUser(answer)).toThrow(expect.objectContaining({ code: 'bad-answer' }));
  });
});

describe('a SubjectAccessReview', () => {
  test('contains everything that is known about the user', () => {
    const user = { name: 'jane', uid: '1', groups: ['a'], extra: { k: ['v'] } };
    expect(accessReview(user, 'node0', 'get', 'pods')).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: 'jane',
        uid: '1',
        groups: ['a'],
        extra: { k: ['v'] },
        resourceAttributes: { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'pods', name: 'node0' },
      },
    });
  });

  test.each([
    [{ status: { allowed: true } }, true],
    [{ status: { allowed: false } }, false],
    [{ status: { allowed: false, denied: true } }, false],
  ])('with the answer %j is %s', (answer, allowed) => {
    expect(isAllowed(answer)).toBe(allowed);
  });

  test.each([
    {},
    undefined,
    { status: {} },
    { status: { allowed: 'true' } },
    { status: { allowed: true, denied: true } },
  ])('cannot be used if the answer is %j', (answer) => {
    expect(() => isAllowed(answer)).toThrow(expect.objectContaining({ code: 'bad-answer' }));
  });
});
