import { expect, test } from '@jest/globals';
import { networkErrorText } from '../src/network-errors.ts';

const error = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

test.each([
  ['dial tcp 10.0.0.2:80: connect: connection refused', { syscall: 'connect', code: 'ECONNREFUSED' }],
  ['dial tcp 10.0.0.2:80: connect: no route to host', { syscall: 'connect', code: 'EHOSTUNREACH' }],
  ['dial tcp 10.0.0.2:80: connect: network is unreachable', { syscall: 'connect', code: 'ENETUNREACH' }],
  ['dial tcp 10.0.0.2:80: connect: as Node says', { syscall: 'connect', code: 'EWHATEVER' }],
  ['read tcp 10.0.0.2:80: read: connection reset by peer', { syscall: 'read', code: 'ECONNRESET' }],
  ['write tcp 10.0.0.2:80: write: broken pipe', { syscall: 'write', code: 'EPIPE' }],
  ['EOF', { code: 'ECONNRESET' }],
  ['dial tcp: lookup web: no such host', { syscall: 'getaddrinfo', code: 'ENOTFOUND', hostname: 'web' }],
  ['dial tcp: lookup web: as Node says', { syscall: 'getaddrinfo', code: 'EAI_AGAIN', hostname: 'web' }],
  [
    'net/http: HTTP/1.x transport connection broken: malformed HTTP response: as Node says',
    { code: 'HPE_INVALID_CONSTANT' },
  ],
  ['tls: as Node says', { syscall: 'write', code: 'EPROTO' }],
  ['as Node says', {}],
])('%s', (text, fields) => {
  expect(networkErrorText(error('as Node says', fields), '10.0.0.2:80')).toBe(text);
});

test('of several addresses the first one counts', () => {
  const errors = ['ECONNREFUSED', 'ENETUNREACH'].map((code) => error('no', { code, syscall: 'connect' }));
  const text = networkErrorText(error('', { errors, code: 'ECONNREFUSED' }), 'web:80');
  expect(text).toBe('dial tcp web:80: connect: connection refused');
});
