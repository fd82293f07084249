import { expect, test } from '@jest/globals';
import { networkErrorText } from '../src/network-errors.ts';

const error = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

test.each([
  ['dial tcp 10.0.0.2:80: connect: connection refused', { syscall: 'connect', code: 'ECONNREFUSED' }],
  ['dial tcp 10.0.0.2:80: connect: no route to host', { syscall: 'connect', code: 'EHOSTUNREACH' }],
  ['dial tcp 10.0.0.2:80: connect: network is unreachable', { syscall: 'connect', code: 'ENETUNREACH' }],
  ['dial tcp 10.0.0.2:80: connect: the message of Node.js', { syscall: 'connect', code: 'EWHATEVER' }],
  ['read tcp 10.0.0.2:80: read: connection reset by peer', { syscall: 'read', code: 'ECONNRESET' }],
  ['write tcp 10.0.0.2:80: write: broken pipe', { syscall: 'write', code: 'EPIPE' }],
  ['EOF', { code: 'ECONNRESET' }],
  ['dial tcp: lookup web: no such host', { syscall: 'getaddrinfo', code: 'ENOTFOUND', hostname: 'web' }],
  ['dial tcp: lookup web: the message of Node.js', { syscall: 'getaddrinfo', code: 'EAI_AGAIN', hostname: 'web' }],
  [
    'net/http: HTTP/1.x transport connection broken: malformed HTTP response: the message of Node.js',
    { code: 'HPE_INVALID_CONSTANT' },
  ],
  ['tls: the message of Node.js', { syscall: 'write', code: 'EPROTO' }],
  ['the message of Node.js', {}],
])('%s', (text, fields) => {
  expect(networkErrorText(error('the message of Node.js', fields), '10.0.0.2:80')).toBe(text);
});

test('the error of the first of several addresses is reported', () => {
  const errors = ['ECONNREFUSED', 'ENETUNREACH'].map((code) => error('no', { code, syscall: 'connect' }));
  const text = networkErrorText(error('', { errors, code: 'ECONNREFUSED' }), 'web:80');
  expect(text).toBe('dial tcp web:80: connect: connection refused');
});
