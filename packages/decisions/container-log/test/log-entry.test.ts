import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LogEntry, LineJoiner, type LogLine, parseLogEntry, splitLines } from '../src/index.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (part: Uint8Array) => Array.from(part, (byte) => String.fromCharCode(byte)).join('');
const time = '2030-01-01T00:00:00.5Z';

describe('a log entry', () => {
  test.each([
    ['stdout F text', { stream: 'stdout', partial: false, text: bytes('text') }],
    ['stderr F a b  c ', { stream: 'stderr', partial: false, text: bytes('a b  c ') }],
    ['stdout P part', { stream: 'stdout', partial: true, text: bytes('part') }],
    ['stdout F ', { stream: 'stdout', partial: false, text: bytes('') }],
    ['stdout F', { stream: 'stdout', partial: false, text: bytes('') }],
    ['stdout F:tag text', { stream: 'stdout', partial: false, text: bytes('text') }],
    ['stdout P:tag text', { stream: 'stdout', partial: true, text: bytes('text') }],
    ['stdout F one\rtwo', { stream: 'stdout', partial: false, text: bytes('one\rtwo') }],
  ])('is parsed from %j', (rest, expected) => {
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
  ])('is not parsed from %j', (line) => {
    expect(parseLogEntry(bytes(line))).toBeUndefined();
  });

  test('contains any bytes that the container has written', () => {
    const text = Uint8Array.of(0, 0xff, 0xe2, 0x82, 0x20, 0x0d);
    expect(parseLogEntry(Uint8Array.from([...bytes(`${time} stdout P `), ...text]))?.text).toEqual(text);
  });
});

test('splitLines splits bytes into lines without losing any', () => {
  const noNewline = fc.uint8Array({ maxLength: 5 }).map((line) => line.filter((byte) => byte !== 0x0a));
  fc.assert(
    fc.property(fc.array(noNewline), noNewline, (lines, rest) => {
      const whole = Uint8Array.from([...lines.flatMap((line) => [...line, 0x0a]), ...rest]);
      expect(splitLines(whole)).toEqual({ lines, rest });
    }),
  );
});

describe('a log line', () => {
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

  test('is joined separately for each stream', () => {
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

  test('without an end is returned in pieces', () => {
    const part = 'x'.repeat(400_000);
    const lines = join([1, 2, 3, 4].map((at) => entry(at, 'stdout', part, true)).concat(entry(5, 'stdout', 'end')));
    expect(lines).toEqual([`T1 stdout ${part.repeat(3)}`, `+ stdout ${part}end$`]);
  });
});
