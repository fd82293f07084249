// Whatever a pod writes, the operator's terminal shows it and obeys none of it.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';
import { print, printDocument, printError } from './output.ts';
import { formatTable } from './table.ts';

const written: string[] = [];
const { log, error } = console;

beforeEach(() => {
  written.length = 0;
  console.log = console.error = (text: string) => void written.push(text);
});
afterEach(() => {
  console.log = log;
  console.error = error;
});

/** Obeyed by terminals: C0 without tab and line end, DEL, C1, and the changes of direction. */
const obeyed = /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '\u001b[2J',
      '\u009b31m',
      '\u001b]0;title\u0007',
      '\r',
      '\b',
      '\u007f',
      '\u202e',
      '\n',
      '\t',
      '- ',
      ': ',
    ),
    fc.string({ maxLength: 3 }),
  ),
});

test.each([
  ['\u001b[2Jgone', '\\u001b[2Jgone'],
  ['a\rb', 'a\\u000db'],
  ['\u009b31m', '\\u009b31m'],
  ['tab\tand\nline', 'tab\tand\nline'],
  ['größer 🙂', 'größer 🙂'],
])('%j is printed as %j', (text, shown) => {
  print(text);
  printError(text);
  expect(written).toEqual([shown, shown]);
});

test('a cell of a table is one line, and the columns are as wide as what is shown', () => {
  expect(
    formatTable(
      ['A', 'B'],
      [
        ['x\ny', '\u001b[A'],
        ['long-name', 'z'],
      ],
    ),
  ).toBe(['A           B', 'x\\ny        \\u001b[A', 'long-name   z'].join('\n'));
});

describe('a document', () => {
  test.each(['json', 'yaml'] as const)('as %s has no controls and remains the same document', (format) => {
    fc.assert(
      fc.property(
        fc.dictionary(
          hostile.filter((key) => key !== '__proto__'),
          fc.array(hostile),
        ),
        (document) => {
          written.length = 0;
          printDocument(document, format);
          const [text = ''] = written;
          expect(text).not.toMatch(obeyed);
          expect(format === 'json' ? JSON.parse(text) : parse(text)).toEqual({ ...document });
        },
      ),
      // Empty lines at a document's end belong to its last value.
      { examples: [[{ log: ['\n'] }]] },
    );
  });
});
