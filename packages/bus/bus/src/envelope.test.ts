import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Cause,
  EnvelopeError,
  HEADER,
  withStartTime,
  decodeEnvelope,
  formatCause,
  formatTime,
  parseCause,
  parseTime,
} from './envelope.ts';
import { Publisher } from './publisher.ts';

const cause = (id: string, received?: number): Cause => ({
  ...{ id, traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
  ...(received !== undefined && { received }),
});

function stamped(now: number, causes: readonly Cause[]): Record<string, string> {
  const publisher = new Publisher({
    publisherId: { instance: 'a-0', epoch: 1, node: 'n' },
    clock: { now: () => now, after: () => () => undefined },
    ids: { hex: (bytes) => '0'.repeat(bytes * 2), fraction: () => 0 },
  });
  return publisher.stamp('x.event.y/1', { causes }).headers;
}

describe('the start time of a cause', () => {
  test('is between the time at which it was received and that at which its effect was published', () => {
    const { received, began, time } = decodeEnvelope(stamped(30, [withStartTime(cause('b.1.1', 10), 20.5)]));
    expect([received, began, time].map((text) => parseTime(text ?? ''))).toEqual([10, 20.5, 30]);
  });

  test('is omitted when work began at once, and after a clock was set back', () => {
    for (const causes of [
      [cause('b.1.1', 10)],
      [withStartTime(cause('b.1.1'), 20)],
      [withStartTime(cause('b.1.1', 10), 5)],
      [withStartTime(cause('b.1.1', 10), 35)],
      [],
    ]) {
      const headers = stamped(30, causes);
      expect(headers[HEADER.began]).toBeUndefined();
      expect(() => decodeEnvelope(headers)).not.toThrow();
    }
  });

  test.each([
    ['is not a time', 'soon', formatTime(10)],
    ['is before the cause was received', formatTime(9), formatTime(10)],
    ['is after the publication', formatTime(31), formatTime(10)],
    ['has no time of receipt', formatTime(20), undefined],
  ])('causes the message to be refused if it %s', (_, began, received) => {
    const { [HEADER.received]: _received, ...headers } = stamped(30, [cause('b.1.1', 10)]);
    const wrong = { ...headers, [HEADER.began]: began, ...(received !== undefined && { [HEADER.received]: received }) };
    expect(() => decodeEnvelope(wrong)).toThrow(EnvelopeError);
    expect(() => decodeEnvelope(wrong)).toThrow('Kubus-Began');
  });
});

describe('the order of causes', () => {
  test.each<[string, Cause[], string]>([
    ['starts with the one that was received last', [cause('b.1.1', 5), cause('c.1.1', 9)], 'c.1.1,b.1.1'],
    [
      'keeps the position of the publisher’s own message',
      [cause('a-0.1.1'), cause('b.1.1', 5), cause('c.1.1', 9)],
      'a-0.1.1,c.1.1,b.1.1',
    ],
    ['is kept for two that were received at the same time', [cause('b.1.1', 5), cause('c.1.1', 5)], 'b.1.1,c.1.1'],
    ['contains each one once', [cause('b.1.1', 5), cause('b.1.1', 5)], 'b.1.1'],
  ])('%s', (_, causes, ids) => {
    expect(stamped(30, causes)[HEADER.causes]).toBe(ids);
  });
});

test('a cause can be carried as text, and no other text is parsed as one', () => {
  const causes = fc.record({
    id: fc.tuple(fc.stringMatching(/^[a-z][a-z0-9-]*$/), fc.nat(), fc.nat()).map((parts) => parts.join('.')),
    traceId: fc.stringMatching(/^[0-9a-f]{32}$/),
    spanId: fc.stringMatching(/^[0-9a-f]{16}$/),
  });
  fc.assert(fc.property(causes, (one) => expect(parseCause(formatCause(one))).toEqual(one)));
  for (const text of [
    '',
    'a.1.1',
    `a.1 ${'0'.repeat(32)} ${'0'.repeat(16)}`,
    `a.1.1 ${'g'.repeat(32)} ${'0'.repeat(16)}`,
  ]) {
    expect(parseCause(text)).toBeUndefined();
  }
});
