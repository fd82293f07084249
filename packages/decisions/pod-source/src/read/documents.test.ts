import { describe, expect, test } from '@jest/globals';
import { parseDocuments } from './documents.ts';

function valueOf(text: string): unknown {
  const { documents, problems } = parseDocuments(text);
  expect(problems).toEqual([]);
  return documents[0]?.value;
}

describe('the YAML dialect', () => {
  test.each([
    ['yes', true],
    ['Off', false],
    ['~', undefined],
    ['0644', 420n],
    ['0o644', 420n],
    ['-0o17', -15n],
    ['0x1F', 31n],
    ['1_000', 1000n],
    ['9007199254740993', 9007199254740993n],
    ['1e3', 1000],
    ['1.10', 1.1],
    ['"0644"', '0644'],
    ['22:22', '22:22'],
    ['1:30.5', '1:30.5'],
    ['2026-01-02', '2026-01-02'],
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
  ])('reads %s', (text, value) => expect(valueOf(`[${text}]`)).toEqual([value ?? null]));

  test('supports merges, anchors and block scalars', () => {
    const text = 'base: &b {a: 1, c: 2}\nother: {<<: *b, c: 3}\nsame: *b\ntext: |\n  one\n  two\n';
    expect(valueOf(text)).toEqual({
      base: { a: 1n, c: 2n },
      other: { a: 1n, c: 3n },
      same: { a: 1n, c: 2n },
      text: 'one\ntwo\n',
    });
  });

  test('reads JSON with tabs, escapes and a byte order mark', () => {
    expect(valueOf('\ufeff{\n\t"a": [1,\t"\\u00e9\\ud83d\\ude00\\/"]\n}')).toEqual({ a: [1n, 'é😀/'] });
  });
});

describe('documents', () => {
  test('are split; empty ones are counted but omitted', () => {
    const { documents } = parseDocuments('# head\n---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\nc: 3\n');
    expect(documents.map(({ index, value }) => [index, value])).toEqual([
      [0, { a: 1n }],
      [3, { b: 2n }],
      [4, { c: 3n }],
    ]);
  });

  test('know the line of each field, or of its nearest existing parent', () => {
    const [, document] = parseDocuments(
      'x: 1\n---\nspec:\n  list:\n  - name: a\n  - name: b\n    image: i\n',
    ).documents;
    const lineOf = (...path: (string | number)[]) => document?.lineOf(path);
    expect(lineOf('spec', 'list', 1, 'image')).toBe(7);
    expect(lineOf('spec', 'list', 1, 'absent', 'deep')).toBe(6);
    expect(lineOf('spec', 'list', 0)).toBe(5);
    expect(lineOf()).toBe(3);
  });
});

describe('a syntax problem', () => {
  test.each([
    ['a: 1\nb: 2\na: 3', 'Map keys must be unique (column 1)', 3],
    ['a: [1, 2', 'Flow sequence in block collection must be sufficiently indented and end with a ] (column 9)', 1],
    ['{"a": ', 'Flow map must end with a } (column 7)', 1],
    ['a: "x', 'Missing closing "quote (column 6)', 1],
    ['a: *b', 'Unresolved alias (the anchor must be set before the alias): b', 1],
    ['\n\na: &x [*x]', 'nested more than 100 levels deep', 3],
  ])('is reported with its line: %j', (text, message, line) => {
    expect(parseDocuments(text)).toMatchObject({ documents: [], problems: [{ document: 0, message, line }] });
  });

  test('does not hide the other documents', () => {
    const { documents, problems } = parseDocuments('a: 1\n---\nb: [\n---\nc: 3\n');
    expect(documents.map(({ index }) => index)).toEqual([0, 2]);
    expect(problems.map(({ document, line }) => [document, line])).toEqual([[1, 4]]);
  });

  test('is reported once for each document, however deep or long it is', () => {
    const bomb = 'a: &a [1,1,1,1,1,1,1,1,1,1]\n'.concat(
      ...'bcdefghi'.split('').map(
        (name, i) =>
          `${name}: &${name} [${Array(10)
            .fill(`*${'abcdefgh'[i] ?? ''}`)
            .join()}]\n`,
      ),
    );
    for (const text of ['['.repeat(5000), '{a: '.repeat(5000), bomb]) {
      expect(parseDocuments(text)).toMatchObject({ documents: [], problems: [{ document: 0 }] });
      expect(parseDocuments(text).problems).toHaveLength(1);
    }
  });
});
