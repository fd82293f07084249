import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { UserError } from '../user-error.ts';
import { parsePath, parseTemplate } from './json-path.ts';
import { renderTemplate, valuesAt } from './json-path-values.ts';

const list = {
  kind: 'List',
  items: [
    {
      metadata: { name: 'one', labels: { app: 'web', 'kubernetes.io/os': 'linux' } },
      status: { phase: 'Running', restarts: 3, ready: true, ips: ['10.0.0.1', 'fd00::1'] },
    },
    { metadata: { name: 'two' }, status: { phase: 'Failed', restarts: 10, ready: false } },
  ],
};

describe('a template, with the result that kubectl has', () => {
  test.each([
    ['{.kind}', 'List'],
    ['{$.kind}', 'List'],
    ['{@.kind}', 'List'],
    ['kind: {.kind}!', 'kind: List!'],
    ['{.items[*].metadata.name}', 'one two'],
    ['{.items[0].metadata.name}', 'one'],
    ['{.items[-1].metadata.name}', 'two'],
    ['{.items[0,1].metadata.name}', 'one two'],
    ['{.items[:1].metadata.name}', 'one'],
    ['{.items[1:].metadata.name}', 'two'],
    ['{.items[0:2:2].metadata.name}', 'one'],
    ["{.items[0]['metadata','status']['name','phase']}", 'one Running'],
    ["{.items[0].metadata.labels['kubernetes.io/os']}", 'linux'],
    ['{.items[0].metadata.labels.kubernetes\\.io/os}', 'linux'],
    ['{.items[0].status.ips}', '["10.0.0.1","fd00::1"]'],
    ['{.items[0].metadata.labels}', '{"app":"web","kubernetes.io/os":"linux"}'],
    ['{.items[0].metadata.labels.*}', 'web linux'],
    ['{..name}', 'one two'],
    ['{.items[*].nothing}', ''],
    ['{.items.metadata}', ''],
    ['{range .items[*]}{.metadata.name}={.status.phase}{"\\n"}{end}', 'one=Running\ntwo=Failed\n'],
    [
      '{range .items[*]}{@.metadata.name}{"\\t"}{range .status.ips[*]}<{@}>{end};{end}',
      'one\t<10.0.0.1><fd00::1>;two\t;',
    ],
    ['{.kind}{"}"}{\'{\'}', 'List}{'],
    ['{.kind "x" .kind}', 'ListxList'],
    ['{.items[?(@.status.phase=="Failed")].metadata.name}', 'two'],
    ['{.items[?(@.status.phase!="Failed")].metadata.name}', 'one'],
    ["{.items[?(@.metadata.name=='one')].status.phase}", 'Running'],
    ['{.items[?(@.status.restarts>3)].metadata.name}', 'two'],
    ['{.items[?(@.status.restarts>=3)].metadata.name}', 'one two'],
    ['{.items[?(@.status.restarts<10)].metadata.name}', 'one'],
    ['{.items[?(@.status.restarts<="3")].metadata.name}', ''],
    ['{.items[?(@.status.ready==true)].metadata.name}', 'one'],
    ['{.items[?(@.metadata.labels)].metadata.name}', 'one'],
    ['{.items[?(@.metadata.name==$.items[1].metadata.name)].metadata.name}', 'two'],
    ['{.items[?(@.metadata.name==")")].metadata.name}', ''],
  ])('%s', (template, expected) => {
    expect(renderTemplate(parseTemplate(template), list)).toBe(expected);
  });
});

test.each([
  ['.kind', /it has no \{expression\}/],
  ['{.kind', /has no closing \}/],
  ['{range .items[*]}{.kind}', /\{range\} without \{end\}/],
  ['{end}', /\{end\} without \{range\}/],
  ['{.items[}', /\[ without \]/],
  ['{.items[x]}', /"x" is no path/],
  ['{.items[0:2:0]}', /step of a slice/],
  ['{.items[?(@.a=="b"]}', /\[\?\( without \)\]/],
  ['{.items[?(@.a=~"b")]}', /regular expressions \(=~\) are not supported/],
  ['{.items[?(@.a=="b" && @.c)]}', /&& in a filter is not supported/],
  ['{.items[?(@.a || @.c)]}', /\|\| in a filter is not supported/],
  ['{.items.length()}', /functions such as length\(\) are not supported/],
  ['{.items[?(a=="b")]}', /a side of a filter is/],
  ['{kind}', /is no path/],
])('what is not supported is refused by name: %s', (template, message) => {
  expect(() => parseTemplate(template)).toThrow(message);
});

test.each(['metadata.name', '.metadata.name', '{.metadata.name}', '$.metadata.name'])('a column’s path: %s', (text) => {
  expect(valuesAt(parsePath(text), list.items[0])).toEqual(['one']);
});

test('a path is one path', () => {
  expect(() => parsePath('.a .b')).toThrow(/one path is expected/);
});

test('any template is parsed or refused, quickly', () => {
  const words = [
    '{',
    '}',
    '.',
    '..',
    '[',
    ']',
    '[?(',
    ')]',
    "'",
    '"',
    '\\',
    '@',
    '$',
    'a',
    '*',
    ',',
    ':',
    'range ',
    'end',
    '==',
    ' ',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 30 }), (parts) => {
      try {
        renderTemplate(parseTemplate(parts.join('')), list);
      } catch (error) {
        expect(error).toBeInstanceOf(UserError);
      }
    }),
  );
});
