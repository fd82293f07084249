import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { expandVariables } from '../src/index.ts';

test.each([
  ['$(A)', 'one'],
  ['x$(A)y$(B)', 'xoneytwo'],
  ['$(C)', '$(C)'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$one'],
  ['$A', '$A'],
  ['$(A', '$(A'],
])('%s expands to %s', (text, expected) => {
  const variables = new Map([
    ['A', 'one'],
    ['B', 'two'],
  ]);
  expect(expandVariables(text, variables)).toBe(expected);
});

describe('expandVariables', () => {
  const name = fc.stringMatching(/^[A-Z_]{1,8}$/);
  const known = new Map([['A', '$(B)']]);

  test('does not expand anything after $$', () => {
    fc.assert(
      fc.property(fc.string(), (text) => expect(expandVariables(text.replaceAll('$', '$$$$'), known)).toBe(text)),
    );
  });

  test('keeps text without variables, and does not expand inserted values again', () => {
    fc.assert(
      fc.property(name, fc.string(), (name, value) => {
        expect(expandVariables(`a$(${name})b`, new Map())).toBe(`a$(${name})b`);
        expect(expandVariables(`a$(${name})b`, new Map([[name, value]]))).toBe(`a${value}b`);
      }),
    );
  });
});
