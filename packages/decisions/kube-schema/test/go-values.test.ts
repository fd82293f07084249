import { describe, expect, test } from '@jest/globals';
import { base64Problem, goSyntax, goText, quantityProblem, timeProblem } from '../src/go-values.ts';

const LAYOUT = '"2006-01-02T15:04:05Z07:00"';

describe('times', () => {
  test.each(['2020-02-29T23:59:59Z', '2020-01-01T00:00:00.5+01:00', '0001-01-01T00:00:00Z'])('%s is one', (text) => {
    expect(timeProblem(text, false)).toBeUndefined();
  });

  test.each([
    ['', `as ${LAYOUT}: cannot parse "" as "2006"`],
    ['2020-01-01', `as ${LAYOUT}: cannot parse "" as "T"`],
    ['2020-01-01T00:00:00', `as ${LAYOUT}: cannot parse "" as "Z07:00"`],
  ])('%j is none', (text, words) => {
    expect(timeProblem(text, false)).toBe(`parsing time "${text}" ${words}`);
  });

  test.each([
    ['2020-13-01T00:00:00Z', 'month out of range'],
    ['2020-02-30T00:00:00Z', 'day out of range'],
    ['2020-01-01T25:00:00Z', 'hour out of range'],
    ['2020-01-01T00:00:00+25:00', 'time zone offset hour out of range'],
    ['2020-01-01T00:00:00Zx', 'extra text: "x"'],
  ])('%s is none: %s', (text, words) => {
    expect(timeProblem(text, false)).toBe(`parsing time "${text}": ${words}`);
  });

  test('a MicroTime has six digits', () => {
    expect(timeProblem('2020-01-01T00:00:00.000001Z', true)).toBeUndefined();
    expect(timeProblem('2020-01-01T00:00:00Z', true)).toContain('cannot parse "Z" as ".000000"');
  });
});

test.each<[string, number | undefined]>([
  ['', undefined],
  ['YWJj', undefined],
  ['YW\nJj\r\n', undefined],
  ['YQ==', undefined],
  ['YWI=', undefined],
  ['YWJ', 0],
  ['YWJjYQ', 4],
  ['YQ=', 3],
  ['YQ=x', 3],
  ['Y===', 1],
  ['YWI=x', 4],
  ['a b', 1],
])('base64 %j is illegal at byte %p', (text, at) => {
  expect(base64Problem(text)).toBe(at === undefined ? undefined : `illegal base64 data at input byte ${at}`);
});

test.each([
  ['1.5Gi', undefined],
  ['1Kib', 'quantities must match'],
  ['1.2.3', 'quantities must match'],
  ['1KM', 'unable to parse quantity'],
  ['', 'quantities must match'],
])('the quantity %j: %p', (text, words) => {
  const problem = quantityProblem(text);
  if (words === undefined) expect(problem).toBeUndefined();
  else expect(problem).toContain(words);
});

test('values are shown as fmt does', () => {
  const value = { b: [1, 'x', null, 2.5], a: { c: true } };
  expect(goText(value)).toBe('map[a:map[c:true] b:[1 x <nil> 2.5]]');
  expect(goSyntax(value)).toBe(
    'map[string]interface {}{"a":map[string]interface {}{"c":true}, "b":[]interface {}{1, "x", interface {}(nil), 2.5}}',
  );
});
