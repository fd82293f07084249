import { expect, test } from '@jest/globals';
import { zoneName } from './zone.ts';
import { age, clock, dateAndTime } from './moment.ts';
import { bytes, count, counted, difference, duration, rate } from './quantity.ts';

const plain = (text: string): string => text.replaceAll('\u202f', ' ');

test.each([
  [0, '0 ms'],
  [0.42, '0.42 ms'],
  [12.34, '12.3 ms'],
  [99.96, '100 ms'],
  [351.2, '351 ms'],
  [999.7, '1.00 s'],
  [4210, '4.21 s'],
  [59_996, '1 min 0 s'],
  [125_000, '2 min 5 s'],
  [11_040_000, '3 h 4 min'],
  [-3.2, '-3.2 ms'],
])('a duration of %d ms is shown as %s', (ms, text) => {
  expect(plain(duration(ms))).toBe(text);
});

test('differences have a sign', () => {
  expect(plain(difference(12.3))).toBe('+12.3 ms');
  expect(plain(difference(-0.5))).toBe('−0.50 ms');
});

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1 000'],
  [1_010_000, '1 010 000'],
])('a count of %d is shown as %s', (value, text) => {
  expect(plain(count(value))).toBe(text);
});

test('quantities have units that fit their size', () => {
  expect(plain(bytes(912))).toBe('912 B');
  expect(plain(bytes(4300))).toBe('4.3 kB');
  expect(plain(bytes(9_090_000))).toBe('9.1 MB');
  expect(rate(0)).toBe('0');
  expect(rate(0.42)).toBe('0.4');
  expect(plain(rate(1204))).toBe('1 204');
  expect(plain(counted(1, 'pod'))).toBe('1 pod');
  expect(plain(counted(2, 'pod'))).toBe('2 pods');
});

test('times are shown in the user’s time zone', () => {
  const at = new Date(2026, 2, 1, 14, 3, 9, 250).getTime();
  expect(clock(at)).toBe('14:03:09.250');
  expect(dateAndTime(at)).toBe('2026-03-01 14:03');
  expect(age(at, at + 12_300)).toBe('12 s');
  expect(age(at, at + 7_260_000)).toBe('2 h');
  expect(age(at, at - 5)).toBe('0 s');
});

test.each([
  [0, 'UTC', 'UTC'],
  [0, undefined, 'UTC'],
  [60, 'Europe/Berlin', 'UTC+01:00 Europe/Berlin'],
  [-210, 'America/St_Johns', 'UTC−03:30 America/St_Johns'],
  [345, undefined, 'UTC+05:45'],
])('a zone %d minutes ahead of UTC, %p, is named %s', (offset, name, text) => {
  expect(zoneName(offset, name)).toBe(text);
});
