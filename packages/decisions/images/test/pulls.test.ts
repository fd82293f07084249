import { joinErrors } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type QueuedPull, explainUnreachable, pullFailure, pulledMessage, startable } from '../src/index.ts';

describe('the pull queue', () => {
  const pull = (id: number, image: string): QueuedPull => ({ id, image });
  const ids = (pulls: readonly QueuedPull[]) => pulls.map(({ id }) => id);

  test.each([
    [[], ['a', 'b', 'c'], 1, [0]],
    [['a'], ['b', 'c'], 1, []],
    [['a'], ['b', 'c', 'd'], 3, [1, 2]],
    [['a'], ['a', 'b'], 2, [2]],
    [[], ['a', 'a', 'b'], Infinity, [0, 2]],
  ])('with running %j, waiting %j and a limit of %d starts %j', (running, waiting, limit, expected) => {
    const all = [...running, ...waiting].map((image, id) => pull(id, image));
    const queue = { running: all.slice(0, running.length), waiting: all.slice(running.length) };
    expect(ids(startable(queue, limit))).toEqual(expected);
  });

  test('keeps its limits in every history, and starts all pulls of an image in order', () => {
    const images = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
    const limits = fc.constantFrom(1, 2, 3, Infinity);
    fc.assert(
      fc.property(images, limits, fc.array(fc.nat(), { maxLength: 12 }), (wanted, limit, ends) => {
        let waiting = wanted.map((image, id) => pull(id, image));
        let running: QueuedPull[] = [];
        const began: QueuedPull[] = [];
        for (let turn = 0; waiting.length + running.length > 0; turn++) {
          const next = startable({ running, waiting }, limit);
          running = [...running, ...next];
          waiting = waiting.filter((one) => !next.includes(one));
          began.push(...next);
          expect(running.length).toBeLessThanOrEqual(limit);
          expect(new Set(running.map(({ image }) => image)).size).toBe(running.length);
          expect(running.length).toBeGreaterThan(0);
          running.splice((ends[turn] ?? 0) % running.length, 1);
        }
        expect(ids(began).sort((a, b) => a - b)).toEqual(wanted.map((_, id) => id));
        for (const image of ['a', 'b', 'c']) {
          const order = ids(began.filter((one) => one.image === image));
          expect(order).toEqual([...order].sort((a, b) => a - b));
        }
      }),
    );
  });
});

describe('a failed pull', () => {
  test.each([
    [
      'rpc error: code = NotFound desc = no such thing',
      'ErrImagePull',
      'rpc error: code = NotFound desc = no such thing',
    ],
    ['RegistryUnavailable', 'RegistryUnavailable', 'image pull failed for a:1 because the registry is unavailable'],
    [
      'RegistryUnavailable: try later',
      'RegistryUnavailable',
      'image pull failed for a:1 because the registry is unavailable: try later',
    ],
    [
      'SignatureValidationFailed: no key',
      'SignatureValidationFailed',
      'image pull failed for a:1 because the signature validation failed: no key',
    ],
  ])('with the error %j has its reason and message', (error, reason, message) =>
    expect(pullFailure('a:1', error)).toEqual({ reason, message }),
  );

  const noRoute =
    'failed to pull r.io/a:1: dial tcp: lookup r.io on 10.0.0.1:53: dial udp 10.0.0.1:53: connect: network is unreachable';
  const noResolver = 'lookup r.io on 127.0.0.53:53: read udp 127.0.0.1:4->127.0.0.53:53: read: connection refused';
  const refused =
    'failed to do request: Head "http://localhost:5000/v2/": dial tcp 127.0.0.1:5000: connect: connection refused';
  test.each([
    ['r.io/a:1', noRoute, 'none', 'the node has no way out of its network (--network none): '],
    ['r.io/a:1', noResolver, 'none', 'the node has no way out of its network (--network none): '],
    ['r.io/a:1', noRoute, 'nat', "the node's way out does not work, or the machine has none: "],
    ['r.io/a:1', noResolver, 'nat', ''],
    ['r.io/a:1', noRoute, undefined, ''],
    ['r.io/a:1', 'r.io/a:1: not found', 'none', ''],
    ['localhost:5000/a:1', refused, 'none', "nothing answers at localhost:5000 of the node's network; "],
    ['localhost:5000/a:1', refused, 'nat', "nothing answers at localhost:5000 of the node's network; "],
    ['localhost:5000/a:1', refused, undefined, ''],
  ] as const)('of %s with %j, network %s, is explained: %s', (image, error, wayOut, before) => {
    const text = explainUnreachable(image, error, wayOut);
    expect([text.startsWith(before), text.endsWith(error), text.length > error.length]).toEqual([
      true,
      true,
      before !== '',
    ]);
  });

  test.each([
    [['a'], 'a'],
    [['a', 'b', 'a'], '[a, b]'],
    [['a', 'a'], 'a'],
  ])('after the attempts %j has the error text %s', (errors, text) => expect(joinErrors(errors)).toBe(text));
});

test.each([
  [0, 0.9, '0s', '0s'],
  [523.7, 1000, '523ms', '1s'],
  [1500, 61_250, '1.5s', '1m1.25s'],
  [0, 3_600_000, '0s', '1h0m0s'],
])('a pull of %d ms, %d ms including waiting, is reported as %s (%s)', (pullMs, wholeMs, pull, whole) => {
  expect(pulledMessage('a:1', { pullMs, wholeMs }, '7')).toBe(
    `Successfully pulled image "a:1" in ${pull} (${whole} including waiting). Image size: 7 bytes.`,
  );
});
