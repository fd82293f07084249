import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { attemptOfLog, planRotation, rotatedLogs } from '../src/index.ts';

const now = Date.parse('2030-01-01T12:34:56.789Z');
const at = (second: number) => `3.log.20300101-0000${String(second).padStart(2, '0')}`;

describe('a rotation', () => {
  const plan = (files: readonly string[], maxFiles = 4) => planRotation({ log: '3.log', files, maxFiles, now });

  test.each<[string, readonly string[], Partial<ReturnType<typeof plan>>]>([
    ['of a single file renames it', ['3.log'], { remove: [], rotateTo: '3.log.20300101-123456', compress: [] }],
    ['compresses files that were rotated before', ['3.log', `${at(1)}.gz`, at(2)], { remove: [], compress: [at(2)] }],
    ['removes the oldest file', [at(3), `${at(1)}.gz`, `${at(2)}.gz`], { remove: [`${at(1)}.gz`], compress: [at(3)] }],
    ['does not compress what it removes', [at(1), at(2), at(3)], { remove: [at(1)], compress: [at(2), at(3)] }],
    ['completes an interrupted removal', [at(1), `${at(1)}.gz`], { remove: [at(1)], compress: [] }],
    ['restarts an interrupted compression', [at(1), `${at(1)}.tmp`], { remove: [`${at(1)}.tmp`], compress: [at(1)] }],
    [
      'ignores files that do not belong to the log',
      ['4.log.20300101-000000', '33.log', '3.log.bak', '3.log.1.gz', 'x'],
      { remove: [] },
    ],
    ['chooses a name after the newest one', ['3.log.20300101-123456'], { rotateTo: '3.log.20300101-123457' }],
    [
      'chooses a name after the newest one when the clock was set back',
      ['3.log.20311231-235959.gz'],
      { rotateTo: '3.log.20320101-000000' },
    ],
  ])('%s', (_what, files, expected) => {
    expect(plan(files)).toMatchObject(expected);
  });

  test('of a log that may have only two files keeps only the one that is being rotated', () => {
    expect(plan([at(1), at(2)], 2)).toMatchObject({ remove: [at(1), at(2)], compress: [] });
  });

  test('keeps the newest files, in the order of their names, wherever the previous rotation was interrupted', () => {
    const step = fc.record({
      clock: fc.integer({ min: -5_000, max: 20_000 }),
      cut: fc.constantFrom('not', 'before the removal', 'in the compression', 'after the compression'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.integer({ min: 2, max: 6 }), (steps, maxFiles) => {
        let files: readonly string[] = ['3.log'];
        let time = now;
        const made: string[] = [];
        for (const { clock, cut } of steps) {
          time += clock;
          const { remove, rotateTo, compress } = planRotation({ log: '3.log', files, maxFiles, now: time });
          expect(files).not.toContain(rotateTo);
          expect(rotateTo > (made.at(-1) ?? '')).toBe(true);
          made.push(rotateTo);
          const left = cut === 'before the removal' ? files : files.filter((file) => !remove.includes(file));
          const [first] = compress;
          const begun = first === undefined || cut === 'not' || cut === 'before the removal' ? [] : [first];
          const done = cut === 'not' ? compress : [];
          files = [
            ...left.filter((file) => !done.includes(file)),
            ...done.map((file) => `${file}.gz`),
            ...begun.map((file) => `${file}${cut === 'in the compression' ? '.tmp' : '.gz'}`),
            rotateTo,
          ];
          const kept = rotatedLogs('3.log', files).map(({ base }) => base);
          expect(kept).toEqual(made.slice(-kept.length));
          expect(kept.at(-1)).toBe(rotateTo);
          if (cut === 'not') expect(kept.length).toBeLessThanOrEqual(maxFiles - 1);
        }
      }),
    );
  });
});

test('rotatedLogs lists each rotated file once, the oldest first', () => {
  const files = [at(3), '3.log', `${at(1)}.gz`, at(1), `${at(3)}.tmp`, `${at(2)}.gz`, '4.log.20300101-000000'];
  expect(rotatedLogs('3.log', files)).toEqual([
    { base: at(1), file: `${at(1)}.gz`, compressed: true },
    { base: at(2), file: `${at(2)}.gz`, compressed: true },
    { base: at(3), file: at(3), compressed: false },
  ]);
});

test.each([
  ['0.log', 0],
  ['12.log.20300101-000000.gz', 12],
  ['3.log.bak', 3],
  ['3.logs', undefined],
  ['x.log', undefined],
])('the file %s belongs to attempt %s', (file, attempt) => {
  expect(attemptOfLog(file)).toBe(attempt);
});
