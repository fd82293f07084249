import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Cause,
  EnvelopeError,
  HEADER,
  begunAt,
  decodeEnvelope,
  formatCause,
  formatTime,
  parseCause,
  parseTime,
} from './envelope.ts';
import { Publisher } from './publisher.ts';

const cause = (id: string, heard?: number): Cause => ({
  ...{ id, traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
  ...(heard !== undefined && { heard }),
});

function stamped(now: number, causes: readonly Cause[]): Record<string, string> {
  const publisher = new Publisher({
    speaker: { instance: 'a-0', epoch: 1, node: 'n' },
    clock: { now: () => now, after: () => () => undefined },
    ids: { hex: (bytes) => '0'.repeat(bytes * 2), fraction: () => 0 },
  });
  return publisher.stamp('x.event.y/1', { causes }).headers;
}

describe('when the turn of a cause had come', () => {
  test('stands between when it was heard and when its effect was published', () => {
    const { heard, began, time } = decodeEnvelope(stamped(30, [begunAt(cause('b.1.1', 10), 20.5)]));
    expect([heard, began, time].map((text) => parseTime(text ?? ''))).toEqual([10, 20.5, 30]);
  });

  test('is left out by who worked at once, who was not told, and whose clock was set back', () => {
    for (const causes of [
      [cause('b.1.1', 10)],
      [begunAt(cause('b.1.1'), 20)],
      [begunAt(cause('b.1.1', 10), 5)],
      [begunAt(cause('b.1.1', 10), 35)],
      [],
    ]) {
      const headers = stamped(30, causes);
      expect(headers[HEADER.began]).toBeUndefined();
      expect(() => decodeEnvelope(headers)).not.toThrow();
    }
  });

  test.each([
    ['is no time', 'soon', formatTime(10)],
    ['was before the cause was heard', formatTime(9), formatTime(10)],
    ['was after the publication', formatTime(31), formatTime(10)],
    ['is of a cause that was not heard', formatTime(20), undefined],
  ])('a message is refused whose turn %s', (_, began, heard) => {
    const { [HEADER.heard]: _heard, ...headers } = stamped(30, [cause('b.1.1', 10)]);
    const wrong = { ...headers, [HEADER.began]: began, ...(heard !== undefined && { [HEADER.heard]: heard }) };
    expect(() => decodeEnvelope(wrong)).toThrow(EnvelopeError);
    expect(() => decodeEnvelope(wrong)).toThrow('Kubus-Began');
  });
});

describe('the order of causes', () => {
  test.each<[string, Cause[], string]>([
    ['the one that was heard last comes first', [cause('b.1.1', 5), cause('c.1.1', 9)], 'c.1.1,b.1.1'],
    [
      'one of its own stays where it is',
      [cause('a-0.1.1'), cause('b.1.1', 5), cause('c.1.1', 9)],
      'a-0.1.1,c.1.1,b.1.1',
    ],
    ['of two that came at once the order stays', [cause('b.1.1', 5), cause('c.1.1', 5)], 'b.1.1,c.1.1'],
    ['each is named once', [cause('b.1.1', 5), cause('b.1.1', 5)], 'b.1.1'],
  ])('%s', (_, causes, ids) => {
    expect(stamped(30, causes)[HEADER.causes]).toBe(ids);
  });
});

test('a cause can go along as text, and nothing else is taken for one', () => {
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
