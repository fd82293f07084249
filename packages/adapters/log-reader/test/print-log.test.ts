import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { LogView } from '../src/index.ts';
import { followLog, printLog } from '../src/index.ts';

let dir: string;
let path: string;
let written: Buffer;
/** Reports each write. */
let onWrite: () => void;

/** Ends the followed containers, at the latest with the test. */
const ends: AbortController[] = [];

function containerEnd(): AbortController {
  const end = new AbortController();
  ends.push(end);
  return end;
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-log-'));
  path = join(dir, '0.log');
  begin();
});
afterEach(() => {
  for (const end of ends.splice(0)) end.abort();
  rmSync(dir, { recursive: true });
});

function begin(): void {
  written = Buffer.alloc(0);
  onWrite = () => undefined;
}

const shown = () => written.toString();

function view(options: Partial<LogView> = {}): LogView {
  return {
    tail: Number.POSITIVE_INFINITY,
    sinceNanos: undefined,
    limitBytes: Number.POSITIVE_INFINITY,
    timestamps: false,
    prefix: '',
    write: (bytes) => {
      written = Buffer.concat([written, bytes]);
      onWrite();
    },
    ...options,
  };
}

const time = (second: number) => `2020-01-01T00:00:0${second}Z`;
const longTime = (second: number) => `2020-01-01T00:00:0${second}.000000000Z`;
const since = (second: number) => BigInt(Date.parse(time(second))) * 1_000_000n;
const line = (second: number, text: string, tag = 'F', stream = 'stdout') =>
  `${time(second)} ${stream} ${tag} ${text}\n`;
const rotated = (second: number) => `${path}.20200101-00000${second}`;

describe('a log', () => {
  beforeEach(() => {
    writeFileSync(`${rotated(1)}.gz`, gzipSync(line(1, 'one') + line(2, 'two', 'F', 'stderr')));
    writeFileSync(rotated(3), line(3, 'three'));
    writeFileSync(path, line(4, 'four') + line(5, 'five'));
    for (const name of ['1.log', '0.log.20200101-000002.tmp', '0.log.note'])
      writeFileSync(join(dir, name), line(0, 'x'));
  });

  test.each<[string, Partial<LogView>, string]>([
    ['as a whole', {}, 'one\ntwo\nthree\nfour\nfive\n'],
    ['with timestamps of nine digits', { timestamps: true, tail: 1 }, `${longTime(5)} five\n`],
    ['of one stream', { stream: 'stderr' }, 'two\n'],
    ['of one stream, from its end', { stream: 'stdout', tail: 4 }, 'one\nthree\nfour\nfive\n'],
    ['with a prefix', { prefix: '[web] ', tail: 2 }, '[web] four\n[web] five\n'],
    ['from its end', { tail: 1 }, 'five\n'],
    ['from its end, which is in a rotated file', { tail: 3 }, 'three\nfour\nfive\n'],
    ['from its end, which is in a compressed file', { tail: 4 }, 'two\nthree\nfour\nfive\n'],
    ['without any line', { tail: 0 }, ''],
    ['with more lines than exist', { tail: 9 }, 'one\ntwo\nthree\nfour\nfive\n'],
    ['since a time', { sinceNanos: since(2) }, 'two\nthree\nfour\nfive\n'],
    ['since a time, from its end', { sinceNanos: since(5), tail: 3 }, 'five\n'],
    ['up to some bytes', { limitBytes: 6 }, 'one\ntw'],
    [
      'up to some bytes, times counted and prefixes not',
      { limitBytes: 33, timestamps: true, prefix: '>' },
      `>${longTime(1)} on`,
    ],
    ['up to the bytes that it has', { limitBytes: 24 }, 'one\ntwo\nthree\nfour\nfive\n'],
  ])('is printed %s', async (_how, options, expected) => {
    await printLog(path, view(options));
    expect(shown()).toBe(expected);
  });

  test('since a time is read only from files written since then', async () => {
    writeFileSync(rotated(3), line(6, 'not read'));
    utimesSync(rotated(3), Date.parse(time(2)) / 1_000, Date.parse(time(2)) / 1_000);
    await printLog(path, view({ sinceNanos: since(4) }));
    expect(shown()).toBe('four\nfive\n');
  });

  test('is printed without the current file if the runtime has not created it yet', async () => {
    renameSync(path, rotated(4));
    await printLog(path, view({ tail: 2 }));
    expect(shown()).toBe('four\nfive\n');
  });

  test('that does not exist is an error with its path', async () => {
    const missing = join(dir, 'x', '0.log');
    await expect(printLog(missing, view())).rejects.toThrow(`the log ${missing} cannot be read: does not exist`);
    const followed = followLog(missing, view(), { ended: AbortSignal.abort() });
    await expect(followed).rejects.toThrow(`the logs in ${join(dir, 'x')} cannot be followed`);
  });
});

describe('lines that the runtime has split', () => {
  const euro = Buffer.from('€');
  const half = (tag: string, bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${time(1)} stdout ${tag} `), bytes, Buffer.from('\n')]);

  test.each([1, Number.POSITIVE_INFINITY])('are printed as one line, with one timestamp (%s)', async (tail) => {
    writeFileSync(rotated(1), line(1, 'long ', 'P'));
    writeFileSync(path, line(2, 'line'));
    await printLog(path, view({ timestamps: true, tail }));
    expect(shown()).toBe(`${longTime(1)} long line\n`);
  });

  test('are printed one after another, as they end', async () => {
    writeFileSync(path, line(1, 'long ', 'P') + line(2, 'other', 'F', 'stderr') + line(3, 'line') + line(4, 'next'));
    await printLog(path, view({ tail: 3 }));
    expect(shown()).toBe('other\nlong line\nnext\n');
  });

  test('within a character are joined to the whole character', async () => {
    writeFileSync(path, Buffer.concat([half('P', euro.subarray(0, 1)), half('F', euro.subarray(1))]));
    await printLog(path, view());
    expect(shown()).toBe('€\n');
  });

  test('and have no end yet are printed but not counted', async () => {
    writeFileSync(path, line(1, 'one') + line(2, 'op', 'P') + line(3, 'en', 'P'));
    await printLog(path, view({ tail: 1 }));
    expect(shown()).toBe('one\nopen');
  });
});

test.each([
  ['2020-01-01T00:00:01.5Z', '2020-01-01T00:00:01.500000000Z'],
  ['2020-01-01T00:00:01.123456789+02:00', '2020-01-01T00:00:01.123456789+02:00'],
])('a time %s is shown as %s', async (written, expected) => {
  writeFileSync(path, `${written} stdout F one\n`);
  await printLog(path, view({ timestamps: true }));
  expect(shown()).toBe(`${expected} one\n`);
});

test('no more is read than is consumed', async () => {
  const lines = 20_000;
  writeFileSync(path, line(1, 'x'.repeat(80)).repeat(lines));
  const stop = new AbortController();
  let takings = 0;
  const taken = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
  const write = async (bytes: Uint8Array) => {
    takings += 1;
    expect(bytes.length).toBeLessThan(128 * 1024);
    // The first bytes are never consumed, so nothing follows them.
    await setImmediate();
    stop.abort();
    await taken;
  };
  await printLog(path, view({ write }), stop.signal);
  expect(takings).toBe(1);
});

test('many and long lines are printed completely, wherever reads split them', async () => {
  const texts = Array.from({ length: 400 }, (_, index) => `${index}${'ä€𝄞'.repeat(index)}`);
  writeFileSync(path, texts.map((text) => line(1, text)).join(''));
  await printLog(path, view());
  expect(shown()).toBe(texts.map((text) => `${text}\n`).join(''));
});

test('the last lines are those at the end, however they are spread over files', async () => {
  const text = fc.record({
    stderr: fc.boolean(),
    parts: fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 3 }),
  });
  const file = fc.record({ gz: fc.boolean(), lines: fc.array(text, { maxLength: 4 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 4 }), fc.nat({ max: 10 }), async (files, tail) => {
      const folder = mkdtempSync(join(dir, 'run-'));
      const all: string[] = [];
      for (const [index, { gz, lines }] of files.entries()) {
        let content = '';
        for (const { stderr, parts } of lines) {
          const texts = parts.map((length, part) => `${all.length}.${part}${'x'.repeat(length)}`);
          all.push(`${texts.join('')}\n`);
          const tagged = texts.map((one, part) =>
            line(1, one, part === texts.length - 1 ? 'F' : 'P', stderr ? 'stderr' : 'stdout'),
          );
          content += tagged.join('');
        }
        const name = index === files.length - 1 ? '0.log' : `0.log.20200101-00000${index}${gz ? '.gz' : ''}`;
        writeFileSync(join(folder, name), name.endsWith('.gz') ? gzipSync(content) : content);
      }
      begin();
      await printLog(join(folder, '0.log'), view({ tail }));
      expect(shown()).toBe(tail === 0 ? '' : all.slice(-tail).join(''));
    }),
    { numRuns: 60 },
  );
});

describe('a log that is followed', () => {
  /** Resolves once all of this has been printed. */
  function printed(text: string): Promise<void> {
    return new Promise((resolve) => {
      onWrite = () => shown() === text && resolve();
      onWrite();
    });
  }

  test('is printed as it grows, in whole lines, until its container has ended', async () => {
    writeFileSync(path, line(1, 'one') + line(2, 'two'));
    const end = containerEnd();
    const followed = followLog(path, view({ tail: 1 }), { ended: end.signal });
    await printed('two\n');
    const [half, rest] = [line(3, 'three').slice(0, 25), line(3, 'three').slice(25)];
    appendFileSync(path, half);
    appendFileSync(path, rest + line(4, 'four', 'F', 'stderr'));
    await printed('two\nthree\nfour\n');
    appendFileSync(path, line(5, 'five'));
    end.abort();
    await followed;
    expect(shown()).toBe('two\nthree\nfour\nfive\n');
  });

  test('starts with the lines that have not ended yet', async () => {
    writeFileSync(path, line(1, 'one') + line(2, 'lo', 'P') + line(2, 'n', 'P'));
    const end = containerEnd();
    const followed = followLog(path, view({ tail: 1 }), { ended: end.signal });
    await printed('one\n');
    appendFileSync(path, line(3, 'g'));
    await printed('one\nlong\n');
    end.abort();
    await followed;
  });

  test('of a container that has already ended is printed once', async () => {
    writeFileSync(path, line(1, 'one'));
    await followLog(path, view(), { ended: AbortSignal.abort() });
    expect(shown()).toBe('one\n');
  });

  test('ends when the reader cancels', async () => {
    writeFileSync(path, line(1, 'one') + line(2, 'open', 'P'));
    const stop = new AbortController();
    const followed = followLog(path, view(), { ended: containerEnd().signal, stop: stop.signal });
    await printed('one\n');
    stop.abort();
    await followed;
    expect(shown()).toBe('one\n');
  });

  test('ends at its limit', async () => {
    writeFileSync(path, line(1, 'one') + line(2, 'two'));
    await followLog(path, view({ limitBytes: 5 }), { ended: containerEnd().signal });
    expect(shown()).toBe('one\nt');
  });

  test('continues in the next file, and includes late lines of the previous one', async () => {
    writeFileSync(path, line(1, 'one'));
    const end = containerEnd();
    const followed = followLog(path, view(), { ended: end.signal });
    await printed('one\n');
    renameSync(path, rotated(1));
    appendFileSync(rotated(1), line(2, 'two'));
    await printed('one\ntwo\n');
    writeFileSync(path, line(4, 'four'));
    appendFileSync(rotated(1), line(3, 'three'));
    await printed('one\ntwo\nthree\nfour\n');
    appendFileSync(rotated(1), line(5, 'late'));
    await printed('one\ntwo\nthree\nfour\nlate\n');
    end.abort();
    await followed;
  });

  test('ends with its container if its folder is removed', async () => {
    const folder = join(dir, 'pod');
    mkdirSync(folder);
    writeFileSync(join(folder, '0.log'), line(1, 'one'));
    const end = containerEnd();
    const followed = followLog(join(folder, '0.log'), view(), { ended: end.signal });
    await printed('one\n');
    rmSync(folder, { recursive: true });
    end.abort();
    await followed;
    expect(shown()).toBe('one\n');
  });

  /** The actions on a log; those without a turn of the follower in between happen at once. */
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('write' as const), lines: fc.integer({ min: 1, max: 40 }) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('rotate' as const), late: fc.integer({ min: 0, max: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('compress' as const) }) },
    // Lets the follower run a little further.
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 9 }) }) },
    // It prints everything that exists.
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
  );

  test('has every line once and in order across rotations and compressions', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const folder = mkdtempSync(join(dir, 'run-'));
        const log = join(folder, '0.log');
        const plain: string[] = [];
        let count = 0;
        let turns = 0;
        const add = (file: string, lines: number) => {
          for (let left = lines; left > 0; left--) {
            count += 1;
            appendFileSync(file, `2020-01-01T00:00:00.${String(count).padStart(9, '0')}Z stdout F ${count}\n`);
          }
        };
        const all = () => Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('');
        add(log, 1);
        begin();
        const end = containerEnd();
        const followed = followLog(log, view(), { ended: end.signal, quietMs: 5 });
        for (const one of steps) {
          if (one.kind === 'write') add(log, one.lines);
          else if (one.kind === 'rotate') {
            const name = `${log}.20200101-${String(++turns).padStart(6, '0')}`;
            renameSync(log, name);
            plain.push(name);
            // The runtime has created the new file, and still writes to the old one.
            writeFileSync(log, '');
            add(name, one.late);
            add(log, 1);
          } else if (one.kind === 'compress') {
            const [oldest] = plain.length > 1 ? plain.splice(0, 1) : [];
            if (oldest !== undefined) compressAsRotation(oldest);
          } else if (one.kind === 'turns') {
            for (let left = one.count; left > 0; left--) await setImmediate();
          } else await printed(all());
        }
        end.abort();
        await followed;
        expect(shown()).toBe(all());
      }),
      { numRuns: 60 },
    );
  });

  function compressAsRotation(file: string): void {
    writeFileSync(`${file}.tmp`, gzipSync(readFileSync(file)));
    renameSync(`${file}.tmp`, `${file}.gz`);
    rmSync(file);
  }
});
