import { expect, test } from '@jest/globals';
import { timeNanos, timeOfMs, timeOfNanos } from '../src/index.ts';

test.each([
  ['1970-01-01T00:00:01Z', 1_000_000_000n],
  ['1970-01-01T00:00:01.000000001Z', 1_000_000_001n],
  ['1970-01-01T00:00:01.5Z', 1_500_000_000n],
  ['1970-01-01T02:00:01.123456789+02:00', 1_123_456_789n],
  ['1970-01-01T00:00:01.1234567899Z', 1_123_456_789n],
  ['1969-12-31T23:59:59.9Z', -100_000_000n],
  ['1970-01-01', undefined],
  ['1970-13-01T00:00:01Z', undefined],
  ['1970-01-01T00:00:01', undefined],
  ['', undefined],
])('the time %s is parsed as %s', (text, nanos) => {
  expect(timeNanos(text)).toBe(nanos);
});

test.each([
  [0, '1970-01-01T00:00:00Z'],
  [1_999.9, '1970-01-01T00:00:01Z'],
])('%d ms is formatted as %s', (ms, text) => {
  expect(timeOfMs(ms)).toBe(text);
});

test.each([
  [0n, '1970-01-01T00:00:00.000000000Z'],
  [1_000_000_001n, '1970-01-01T00:00:01.000000001Z'],
  [1_123_456_789n, '1970-01-01T00:00:01.123456789Z'],
])('%s ns is formatted as %s', (nanos, text) => {
  expect(timeOfNanos(nanos)).toBe(text);
});
