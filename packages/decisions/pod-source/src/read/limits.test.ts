import { describe, expect, test } from '@jest/globals';
import { extentOf } from './extent.ts';
import { readManifest } from './read-manifest.ts';

const origin = { path: '/m/p.yaml', node: 'n', source: 'file', seenAt: '2026-01-02T03:04:05Z' } as const;
const read = (text: string) => readManifest({ text, ...origin });
const podWith = (containers: string) =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n${containers}`;
const many = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join('');

/** Each of these was read for 20 to 150 seconds, or ended in "Maximum call stack size exceeded". */
describe('a file above a limit is refused in time proportional to its size:', () => {
  test.each<[what: string, text: string, message: string]>([
    [
      'a mapping of 110,000 keys',
      many(110_000, (at) => `key-${at}: value\n`),
      'more than 300000 keys, values and indicators',
    ],
    ['keys in a flow', `{${many(110_000, (at) => `k${at}: v,`)}}`, 'more than 300000 keys, values and indicators'],
    ['empty items', many(310_000, () => '-\n'), 'more than 300000 keys, values and indicators'],
    ['aliases', `a: &a {}\nb: [${many(2_000, () => '*a,')}]`, 'more than 1000 aliases'],
    ['lists in lists', '- '.repeat(20_000), 'nested more than 100 levels deep'],
    ['flows in flows', '['.repeat(50_000), 'nested more than 100 levels deep'],
    ['maps in maps', many(20_000, (at) => `${' '.repeat(at % 2_000)}a:\n`), 'nested more than 100 levels deep'],
  ])('%s', (_what, text, message) => {
    expect(read(text)).toMatchObject({ pods: [], errors: [{ document: 0, message, line: expect.any(Number) }] });
  });

  test('20,000 containers', () => {
    const text = podWith('').replace('[{name: c, image: i}]', `[${many(20_000, (at) => `{name: c${at}, image: i},`)}]`);
    expect(read(text)).toMatchObject({
      pods: [],
      errors: [{ message: 'Too long: 60007 values: a pod may have at most 20000', line: 1 }],
    });
  });

  test('a pod of more than 1.5 million characters', () => {
    const text = podWith(`note: ${'x'.repeat(1_500_001)}`);
    expect(read(text).errors).toMatchObject([
      { message: expect.stringMatching(/^Too long: \d{7} characters: a pod may have at most 1500000$/) },
    ]);
  });
});

test('what is below the limits is read: 50,000 keys, of which the pod has none', () => {
  const { pods, errors, warnings } = read(`${podWith('')}---\n${many(50_000, (at) => `k${at}: v\n`)}`);
  expect([pods.length, errors.length, warnings.length]).toEqual([1, 2, 0]);
});

test('a key that is repeated in a map of 50,000 keys is found', () => {
  const { errors } = read(`${many(50_000, (at) => `k${at}: v\n`)}k7: w\n`);
  expect(errors).toMatchObject([{ message: 'Map keys must be unique (column 1)', line: 50_001 }]);
});

test('of several documents, those before the one above a limit are read', () => {
  const { pods, errors } = read(`${podWith('')}---\n${'['.repeat(200)}`);
  expect([pods.length, errors.map(({ document }) => document)]).toEqual([1, [1]]);
});

describe('the extent of data', () => {
  test('counts what is shared for each place', () => {
    const shared = { a: ['xy', 1] };
    expect(extentOf([shared, shared])).toEqual({ values: 9, characters: 6, depth: 3 });
  });

  test('is infinite where data contains itself', () => {
    const self: unknown[] = [];
    self.push([self]);
    expect(extentOf(self)).toEqual({ values: Infinity, characters: Infinity, depth: Infinity });
  });
});
