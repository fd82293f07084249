import { expect, test } from '@jest/globals';
import { anonymousUser, asAuthenticated, bearerToken, certificateUser } from '../../src/index.ts';

test('the user and groups are read from a certificate', () => {
  expect(certificateUser({ names: ['admin'], organizations: ['system:masters', 'b'], sha256: 'AB01' })).toEqual({
    name: 'admin',
    groups: ['system:masters', 'b', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab01'] },
  });
  expect(certificateUser({ names: ['a', 'b'], organizations: [], sha256: '' })?.name).toBe('b');
  expect(certificateUser({ names: [], organizations: ['system:masters'], sha256: '' })).toBeUndefined();
  expect(certificateUser({ names: [''], organizations: ['system:masters'], sha256: '' })).toBeUndefined();
});

test('an authenticated user is in the group of authenticated users, once', () => {
  expect(asAuthenticated({ name: 'a', groups: ['system:authenticated', 'b'], extra: {} }).groups).toEqual([
    'system:authenticated',
    'b',
  ]);
  expect(asAuthenticated(anonymousUser).groups).toEqual(['system:unauthenticated']);
});

test.each([
  ['Bearer abc', 'abc'],
  [' bearer abc ', 'abc'],
  ['BEARER abc def', 'abc'],
  ['Bearer ', undefined],
  ['Bearer', undefined],
  ['Bearer  abc', undefined],
  ['Basic abc', undefined],
  ['', undefined],
  [undefined, undefined],
])('the token of "%s" is %s', (header, token) => {
  expect(bearerToken(header)).toBe(token);
});
