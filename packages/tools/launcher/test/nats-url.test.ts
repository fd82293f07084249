import { describe, expect, test } from '@jest/globals';
import { parseNatsUrl } from '../src/nats/nats-relay.ts';
import { isLoopback } from '../src/nats/server-url.ts';

describe('the URL of a NATS server', () => {
  test.each([
    ['nats://127.0.0.1:4222', '127.0.0.1', 4222, true],
    ['nats://localhost', 'localhost', 4222, true],
    ['nats://[::1]:4333', '::1', 4333, true],
    ['nats://nats.example.org:1', 'nats.example.org', 1, false],
    ['tls://nats.example.org', 'nats.example.org', 4222, false],
    ['nats://127.example.org:1', '127.example.org', 1, false],
  ])('%s is accepted', (url, host, port, loopback) => {
    expect(parseNatsUrl(url)).toEqual({ host, port, tls: url.startsWith('tls:') });
    expect(isLoopback(parseNatsUrl(url))).toBe(loopback);
  });

  test.each([
    '',
    'nats',
    'http://127.0.0.1',
    'nats://',
    'nats://x:0',
    'nats://x:70000',
    'tls://x:0',
    'nats://u:secret@x',
  ])('"%s" is refused', (url) => {
    const refusal = expect.objectContaining({
      code: 'BadNatsUrl',
      message: expect.not.stringContaining('secret') as unknown,
    }) as unknown;
    expect(() => parseNatsUrl(url)).toThrow(refusal);
  });
});
