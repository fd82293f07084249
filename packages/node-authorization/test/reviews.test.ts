import { describe, expect, test } from '@jest/globals';
import { accessReview, isAllowed, reviewedUser, tokenReview } from '../src/index.ts';

describe('a token', () => {
  test('is asked for', () => {
    expect(tokenReview('t')).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 't' },
    });
  });

  test('has its user', () => {
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
    'may be nobody’s: %j',
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
  ])('is no one’s by an answer that says nothing: %j', (answer) => {
    expect(() => reviewedUser(answer)).toThrow(expect.objectContaining({ code: 'bad-answer' }));
  });
});

describe('access', () => {
  test('is asked for with all that is known of the user', () => {
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
  ])('by %j is %s', (answer, allowed) => {
    expect(isAllowed(answer)).toBe(allowed);
  });

  test.each([
    {},
    undefined,
    { status: {} },
    { status: { allowed: 'true' } },
    { status: { allowed: true, denied: true } },
  ])('is an error by %j', (answer) => {
    expect(() => isAllowed(answer)).toThrow(expect.objectContaining({ code: 'bad-answer' }));
  });
});
