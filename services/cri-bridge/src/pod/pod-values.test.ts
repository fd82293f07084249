import { expect, test } from '@jest/globals';
import { PodValues } from './pod-values.ts';

test('the values of a pod are redacted in texts about it, in each form that an error uses', () => {
  const values = new PodValues();
  values.add('a', ['s3cret', 's3cret-longer', 'with "quotes"', 'a']);
  expect(values.redact('a', 'exec: "s3cret-longer": s3cret, a')).toBe('exec: "<redacted>": <redacted>, a');
  expect(values.redact('a', 'exec: "with \\"quotes\\"" is with "quotes"')).toBe('exec: "<redacted>" is <redacted>');
  expect(values.redact('b', 's3cret')).toBe('s3cret');
  values.forget('a');
  expect(values.redact('a', 's3cret')).toBe('s3cret');
});
