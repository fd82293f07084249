import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EnvFileError, envFileValue } from '../src/env-file.ts';
import { thrown } from './thrown.ts';

describe('an env file', () => {
  test.each([
    ['on one line', "K='v'", 'v'],
    ['with spaces before the name and a comment after the value', "  K='v'  # why", 'v'],
    ['among other keys, comments and empty lines', "# first\n\n \t\nA='1'\n#K='no'\nK='v'\nK='later'\n", 'v'],
    ['on several lines', "K='a\nb='\nOTHER='x'", 'a\nb='],
    ['with characters that are not expanded', 'K=\'$A \\n "q" # x\'', '$A \\n "q" # x'],
    ['with the line ends of another system', "A='1'\r\nK='a\r\nb'\r\n", 'a\nb'],
    ['empty', "K=''", undefined],
    ['after a space, which assigns nothing', "K= 'v'", undefined],
    ['after another line with such a space', "A= v=w'\nK='v'", 'v'],
    ['of a missing key', "KK='v'", undefined],
    ['in an empty file', '', undefined],
    ['before an invalid line, which is not read', "K='v'\nwrong", 'v'],
  ])('has a value %s', (_, text, value) => {
    expect(envFileValue(text, 'K')).toBe(value);
  });

  test.each([
    ['A', 'line 1: there is no "="'],
    ["A='1'\n='v'", 'line 2: the name is empty'],
    ["A ='1'", 'line 1: there is a space before "="'],
    ['A=1', 'line 1: the value is not in single quotes'],
    ['A=', 'line 1: the value is not in single quotes'],
    ["\nA='1\n2", 'line 2: the value is not in single quotes'],
    ["A='1\n2' x", 'line 2: something follows the closing quote'],
  ])('with the text %j is refused', (text, message) => {
    const error = thrown(() => envFileValue(`${text}\nK='v'`.replace("2\nK='v'", '2'), 'K'));
    expect(error).toBeInstanceOf(EnvFileError);
    expect(error).toMatchObject({ message });
  });

  test('contains any value exactly as it was written', () => {
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
    const value = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !/['\r]/.test(text));
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([one]) => one, maxLength: 8 }), (pairs) => {
        const text = pairs.map(([key, one]) => `${key}='${one}'`).join('\n');
        for (const [key, one] of pairs) expect(envFileValue(text, key)).toBe(one);
      }),
    );
  });
});
