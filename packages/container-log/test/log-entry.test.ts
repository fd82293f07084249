import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LogEntry, LineJoiner, type LogLine, parseLogEntry, splitLines, timeNanos } from '../src/index.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (part: Uint8Array) => Array.from(part, (byte) => String.fromCharCode(byte)).join('');
const time = '2030-01-01T00:00:00.5Z';

describe('an entry', () => {
  test.each([
    ['stdout F text', { stream: 'stdout', partial: false, text: bytes('text') }],
    ['stderr F a b  c ', { stream: 'stderr', partial: false, text: bytes('a b  c ') }],
    ['stdout P part', { stream: 'stdout', partial: true, text: bytes('part') }],
    ['stdout F ', { stream: 'stdout', partial: false, text: bytes('') }],
    ['stdout F', { stream: 'stdout', partial: false, text: bytes('') }],
    ['stdout F:tag text', { stream: 'stdout', partial: false, text: bytes('text') }],
    ['stdout P:tag text', { stream: 'stdout', partial: true, text: bytes('text') }],
    ['stdout F one\rtwo', { stream: 'stdout', partial: false, text: bytes('one\rtwo') }],
  ])('%j is read', (rest, expected) => {
    expect(parseLogEntry(bytes(`${time} ${rest}`))).toEqual({ time, ...expected });
  });

  test.each([
    '',
    'text',
    time,
    `${time} stdout`,
    `${time} stdin F text`,
    `${time} stdout X text`,
    'T00:00:00Z stdout F cut off',
  ])('%j is none', (line) => {
    expect(parseLogEntry(bytes(line))).toBeUndefined();
  });

  test('has whatever bytes the container wrote', () => {
    const text = Uint8Array.of(0, 0xff, 0xe2, 0x82, 0x20, 0x0d);
    expect(parseLogEntry(Uint8Array.from([...bytes(`${time} stdout P `), ...text]))?.text).toEqual(text);
  });
});

test('bytes are cut into lines, and nothing of them is lost', () => {
  const noNewline = fc.uint8Array({ maxLength: 5 }).map((line) => line.filter((byte) => byte !== 0x0a));
  fc.assert(
    fc.property(fc.array(noNewline), noNewline, (lines, rest) => {
      const whole = Uint8Array.from([...lines.flatMap((line) => [...line, 0x0a]), ...rest]);
      expect(splitLines(whole)).toEqual({ lines, rest });
    }),
  );
});

test.each([
  ['1970-01-01T00:00:01Z', 1_000_000_000n],
  ['1970-01-01T00:00:01.000000001Z', 1_000_000_001n],
  ['1970-01-01T00:00:01.5Z', 1_500_000_000n],
  ['1970-01-01T02:00:01.123456789+02:00', 1_123_456_789n],
  ['1969-12-31T23:59:59.9Z', -100_000_000n],
  ['1970-01-01', undefined],
  ['1970-13-01T00:00:01Z', undefined],
  ['1970-01-01T00:00:01', undefined],
  ['', undefined],
])('the time %s is %s', (text, nanos) => {
  expect(timeNanos(text)).toBe(nanos);
});

describe('lines', () => {
  const entry = (at: number, stream: LogEntry['stream'], text: string, partial = false): LogEntry => ({
    time: `T${at}`,
    stream,
    partial,
    text: bytes(text),
  });
  const shown = ({ time, stream, parts, begins, ends }: LogLine) =>
    `${begins ? time : '+'} ${stream} ${parts.map(textOf).join('')}${ends ? '$' : ''}`;

  function join(entries: readonly LogEntry[]): string[] {
    const joiner = new LineJoiner();
    const lines = entries.flatMap((one) => joiner.add(one) ?? []);
    return [...lines, ...joiner.end()].map(shown);
  }

  test('are put together by stream', () => {
    expect(
      join([
        entry(1, 'stdout', 'long ', true),
        entry(2, 'stderr', 'other'),
        entry(3, 'stdout', 'line'),
        entry(4, 'stdout', ''),
        entry(5, 'stderr', 'open', true),
      ]),
    ).toEqual(['T2 stderr other$', 'T1 stdout long line$', 'T4 stdout $', 'T5 stderr open']);
  });

  test('that do not end come in pieces', () => {
    const part = 'x'.repeat(400_000);
    const lines = join([1, 2, 3, 4].map((at) => entry(at, 'stdout', part, true)).concat(entry(5, 'stdout', 'end')));
    expect(lines).toEqual([`T1 stdout ${part.repeat(3)}`, `+ stdout ${part}end$`]);
  });
});
