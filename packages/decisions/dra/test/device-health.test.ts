import { expect, test } from '@jest/globals';
import { type HealthReport, healthOf, isSameHealth, nextStale, withReports, withoutStale } from '../src/index.ts';

const report = (device: string, more: Partial<HealthReport> = {}): HealthReport => ({
  ...{ pool: 'p', device, health: 'Healthy', message: '', timeoutSeconds: 0 },
  ...more,
});
const of = (device: string) => ({ pool: 'p', device });

test('a health counts until its time-out, and a device that is not reported stays as it is until then', () => {
  const first = withReports(new Map(), [report('a'), report('b', { timeoutSeconds: 100 })], 0);
  expect(nextStale(first)).toBe(30_000);
  const second = withReports(first, [report('b', { health: 'Unhealthy', message: 'hot' })], 29_999);
  expect(healthOf(second, of('a'))).toEqual({ health: 'Healthy' });
  expect(healthOf(second, of('b'))).toEqual({ health: 'Unhealthy', healthMessage: 'hot' });
  const third = withoutStale(second, 30_000);
  expect(healthOf(third, of('a'))).toEqual({});
  expect(healthOf(third, of('b'))).toEqual({ health: 'Unhealthy', healthMessage: 'hot' });
  expect(nextStale(withoutStale(third, 59_999))).toBeUndefined();
});

test.each([
  [0, 30],
  [-5, 30],
  [7, 7],
  [1e12, 86_400],
])('a time-out of %s seconds is one of %s', (timeoutSeconds, seconds) => {
  expect(nextStale(withReports(new Map(), [report('a', { timeoutSeconds })], 0))).toBe(seconds * 1000);
});

test('of a driver that reports ever other devices the last 16384 are known', () => {
  const many = (from: number) => Array.from({ length: 16_384 }, (_, index) => report(`d${from + index}`));
  const known = withReports(withReports(new Map(), many(0), 0), many(10), 1);
  expect([known.size, known.has('p/d9'), known.has('p/d10')]).toEqual([16_384, false, true]);
});

test('a message has 1024 characters at most', () => {
  const known = (length: number) =>
    healthOf(withReports(new Map(), [report('a', { message: 'x'.repeat(length) })], 0), of('a'));
  expect(known(1024).healthMessage).toBe('x'.repeat(1024));
  expect(known(1025).healthMessage).toBe(`${'x'.repeat(1021)}...`);
});

test('a report that says the same changes nothing but the time', () => {
  const one = withReports(new Map(), [report('a')], 0);
  expect(isSameHealth(one, withReports(one, [report('a')], 5))).toBe(true);
  expect(isSameHealth(one, withReports(one, [report('a', { message: 'm' })], 5))).toBe(false);
  expect(isSameHealth(one, withReports(one, [report('a', { health: undefined })], 5))).toBe(false);
  expect(isSameHealth(one, new Map())).toBe(false);
});
