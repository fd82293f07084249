import { describe, expect, test } from '@jest/globals';
import { isLoopback, parseNatsUrl } from '../src/nats-relay.ts';

describe('the URL of a NATS server', () => {
  test.each([
    ['nats://127.0.0.1:4222', '127.0.0.1', 4222, true],
    ['nats://localhost', 'localhost', 4222, true],
    ['nats://[::1]:4333', '::1', 4333, true],
    ['nats://nats.example.org:1', 'nats.example.org', 1, false],
    ['nats://127.example.org:1', '127.example.org', 1, false],
  ])('%s is understood', (url, host, port, loopback) => {
    expect(parseNatsUrl(url)).toEqual({ host, port });
    expect(isLoopback(parseNatsUrl(url))).toBe(loopback);
  });

  test('has TLS where whoever reads it can have it', () => {
    expect(parseNatsUrl('tls://nats.example.org', { tls: true })).toEqual({ host: 'nats.example.org', port: 4222 });
    expect(() => parseNatsUrl('http://nats.example.org', { tls: true })).toThrow('is no address of a NATS server');
  });

  test.each([
    '',
    'nats',
    'http://127.0.0.1',
    'nats://',
    'nats://x:0',
    'nats://x:70000',
    'tls://x',
    'nats://u:secret@x',
  ])('"%s" is refused', (url) => {
    const refusal = expect.objectContaining({
      code: 'BadNatsUrl',
      message: expect.not.stringContaining('secret') as unknown,
    }) as unknown;
    expect(() => parseNatsUrl(url)).toThrow(refusal);
  });
});
