import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeToken, encodeToken, subjectMatches } from './subject.ts';

describe('encodeToken', () => {
  test.each([
    ['1f0c2d3e-aaaa-bbbb-cccc-0123456789ab', '1f0c2d3e-aaaa-bbbb-cccc-0123456789ab'],
    ['node.example.com', 'node=2Eexample=2Ecom'],
    ['', '='],
    ['a=b', 'a=3Db'],
    ['50% of > and *', '50=25=20of=20=3E=20and=20=2A'],
    ['ü', '=C3=BC'],
  ])('%j becomes %s', (text, token) => {
    expect(encodeToken(text)).toBe(token);
    expect(decodeToken(token)).toBe(text);
  });

  test('returns one valid token for every text, from which the text can be decoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(encodeToken(text)).toMatch(/^[A-Za-z0-9_=-]+$/);
        expect(decodeToken(encodeToken(text))).toBe(text);
      }),
    );
  });
});

describe('subjectMatches', () => {
  test.each([
    ['kubus.n.*.*.*.u1', 'kubus.n.config.fact.file.u1', true],
    ['kubus.n.>', 'kubus.n.config.fact.file.u1', true],
    ['kubus.n.>', 'kubus.n', false],
    ['kubus.*.config', 'kubus.n.config.fact', false],
    ['kubus.n.config.fact', 'kubus.n.config', false],
  ])('compares the pattern %s with the subject %s: %s', (pattern, subject, expected) =>
    expect(subjectMatches(pattern, subject)).toBe(expected),
  );
});
