import { describe, expect, test } from '@jest/globals';
import { refusalOf } from './guarded-server.ts';

const token = 'a'.repeat(43);
const ask = (url: string, headers: Record<string, string> = {}) =>
  refusalOf({ url, headers: { host: '127.0.0.1:8470', ...headers } }, token)?.status;
const authorization = `Bearer ${token}`;

describe('access to the observatory on the loopback address', () => {
  test.each([
    '/api/v1/recordings',
    '/api/v1',
    '/api',
    '/API/v1',
    '//api/v1',
    '/./api/v1',
    '/%61pi/v1',
    '/x/../api/v1',
    '/api?x=1',
    'http://127.0.0.1/api/v1',
    '',
  ])('%s requires the token', (url) => {
    expect(ask(url)).toBe(401);
    expect(ask(url, { authorization: `Bearer ${'b'.repeat(43)}` })).toBe(401);
    expect(ask(url, { authorization: `Bearer ${token}x` })).toBe(401);
    expect(ask(url, { authorization: token })).toBe(401);
    expect(ask(url, { authorization: 'Bearer ' })).toBe(401);
    expect(ask(url, { authorization })).toBeUndefined();
  });

  test.each(['/', '/index.html', '/assets/index-a_b.js', '/?pod=x', '/apis.html'])('%s returns the page', (url) => {
    expect(ask(url)).toBeUndefined();
  });

  test.each(['evil.example', 'localhost.evil.example:8470', '127.0.0.1.evil.example', '', '10.0.0.1', '[::1]'])(
    'requests for host %s are refused',
    (host) => {
      expect(ask('/', { host })).toBe(421);
      expect(ask('/api/v1', { host, authorization })).toBe(421);
    },
  );

  test('both loopback host names are accepted', () => {
    expect(ask('/', { host: 'localhost:1' })).toBeUndefined();
    expect(ask('/', { host: '127.0.0.1' })).toBeUndefined();
  });
});
