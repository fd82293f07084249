import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { appendFileSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogView, followLog, parseLine, printLog } from './container-log.ts';

test.each([
  ['2030-01-01T00:00:00.5Z stdout F text', { stream: 'stdout', text: 'text\n' }],
  ['2030-01-01T00:00:00.5Z stderr F a b  c ', { stream: 'stderr', text: 'a b  c \n' }],
  ['2030-01-01T00:00:00.5Z stdout P part', { stream: 'stdout', text: 'part' }],
  ['2030-01-01T00:00:00.5Z stdout F ', { stream: 'stdout', text: '\n' }],
  ['2030-01-01T00:00:00.5Z stdout F', { stream: 'stdout', text: '\n' }],
  ['2030-01-01T00:00:00.5Z stdout F:tag text', { stream: 'stdout', text: 'text\n' }],
  ['2030-01-01T00:00:00.5Z stdout F one\rtwo', { stream: 'stdout', text: 'one\rtwo\n' }],
])('the line %j is read', (line, expected) => {
  expect(parseLine(line)).toEqual({ time: '2030-01-01T00:00:00.5Z', ...expected });
});

test.each(['', 'text', '2030-01-01T00:00:00.5Z stdin F text', '2030-01-01T00:00:00.5Z stdout X text'])(
  '%j is no line of a log',
  (line) => {
    expect(parseLine(line)).toBeUndefined();
  },
);

let dir: string;
let path: string;
let written: string;
/** Tells of each thing that was written. */
let onWrite: () => void;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-log-'));
  path = join(dir, '0.log');
  written = '';
  onWrite = () => undefined;
});
afterEach(() => rm(dir, { recursive: true }));

function view(options: Partial<LogView> = {}): LogView {
  return {
    tail: Number.POSITIVE_INFINITY,
    sinceMs: undefined,
    timestamps: false,
    write: (stream, text) => {
      written += stream === 'stderr' ? `!${text}` : text;
      onWrite();
    },
    ...options,
  };
}

const line = (second: number, text: string, tag = 'F', stream = 'stdout') =>
  `2030-01-01T00:00:0${second}Z ${stream} ${tag} ${text}\n`;

describe('a log', () => {
  beforeEach(() => writeFile(path, [line(1, 'one'), line(2, 'two', 'F', 'stderr'), line(3, 'three')].join('')));

  test.each<[string, Partial<LogView>, string]>([
    ['as a whole', {}, 'one\n!two\nthree\n'],
    ['with times', { timestamps: true }, expect.stringContaining('!2030-01-01T00:00:02Z two\n') as unknown as string],
    ['from its end', { tail: 2 }, '!two\nthree\n'],
    ['without any line', { tail: 0 }, ''],
    ['with more lines than there are', { tail: 9 }, 'one\n!two\nthree\n'],
    ['since a time', { sinceMs: Date.parse('2030-01-01T00:00:02Z') }, '!two\nthree\n'],
    ['since a time, from its end', { sinceMs: Date.parse('2030-01-01T00:00:02Z'), tail: 1 }, 'three\n'],
  ])('is printed %s', async (_how, options, expected) => {
    await printLog(path, view(options));
    expect(written).toEqual(expected);
  });

  test('that is not there is an error that names it', async () => {
    await expect(printLog(join(dir, 'x.log'), view())).rejects.toThrow(`the log ${join(dir, 'x.log')} can not be read`);
  });

  test('with a line that the runtime has cut prints it as one, with one time', async () => {
    const parts = [line(1, 'long ', 'P'), line(2, 'other', 'F', 'stderr'), line(3, 'line'), line(4, 'next')];
    await writeFile(path, parts.join(''));
    await printLog(path, view({ timestamps: true }));
    expect(written).toBe(
      ['2030-01-01T00:00:01Z long !2030-01-01T00:00:02Z other', 'line', '2030-01-01T00:00:04Z next', ''].join('\n'),
    );
  });

  test('of many and long lines is printed whole, whatever falls between two reads', async () => {
    const texts = Array.from({ length: 400 }, (_, index) => `${index}${'ä€𝄞'.repeat(index)}`);
    await writeFile(path, texts.map((text) => line(1, text)).join(''));
    await printLog(path, view());
    expect(written).toBe(texts.map((text) => `${text}\n`).join(''));
  });
});

describe('a log that is followed', () => {
  /** Resolves once all of this has been printed. */
  function printed(text: string): Promise<void> {
    return new Promise((resolve) => {
      onWrite = () => written === text && resolve();
      onWrite();
    });
  }

  test('is printed as it grows, whole lines only, and until its container has ended', async () => {
    await writeFile(path, line(1, 'one') + line(2, 'two'));
    let ended = false;
    const followed = followLog(path, view({ tail: 1 }), () => ended);
    await printed('two\n');
    const [half, rest] = [line(3, 'three').slice(0, 25), line(3, 'three').slice(25)];
    await appendFile(path, half);
    await appendFile(path, rest + line(4, 'four', 'F', 'stderr'));
    await printed('two\nthree\n!four\n');
    await appendFile(path, line(5, 'five'));
    ended = true;
    await followed;
    expect(written).toBe('two\nthree\n!four\nfive\n');
  });

  test('is printed with what was written right before the end', async () => {
    await writeFile(path, line(1, 'one'));
    let asked = 0;
    const ended = () => {
      asked += 1;
      if (asked > 1) appendFileSync(path, line(2, 'two'));
      return asked > 1;
    };
    await followLog(path, view(), ended);
    expect(written).toBe('one\ntwo\n');
  });

  test('of a container that has ended already is printed once', async () => {
    await writeFile(path, line(1, 'one'));
    await followLog(path, view(), () => true);
    expect(written).toBe('one\n');
  });
});
