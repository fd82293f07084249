import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Cancel, Clock } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import { ManifestParserError, ThreadedParser } from '../src/manifest-parser.ts';
import { manifestOf } from './doubles.ts';

const origin = { path: '/m/p.yaml', node: 'n', source: 'file', seenAt: '2026-01-02T03:04:05Z' } as const;
const long = `${manifestOf('long')}# ${'x'.repeat(20_000)}\n`;
const programOf = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

let parsers: ThreadedParser[] = [];
const parserOf = (options: Partial<ConstructorParameters<typeof ThreadedParser>[0]> = {}) => {
  const parser = new ThreadedParser({ clock: systemClock, ...options });
  parsers.push(parser);
  return parser;
};
beforeEach(() => {
  parsers = [];
});
afterEach(() => Promise.all(parsers.map((parser) => parser.close())));

test('short and long manifests are parsed, in their order', async () => {
  const parser = parserOf();
  const names: string[] = [];
  const parse = async (text: string) => {
    const { pods } = await parser.parse({ text, ...origin });
    for (const { metadata } of pods) names.push(metadata.name);
  };
  await Promise.all([parse(long), parse(manifestOf('short')), parse(long.replace('long', 'longer'))]);
  expect(names).toEqual(['long-n', 'short-n', 'longer-n']);
});

describe('a thread', () => {
  test('that does not end in time is ended, and others follow it', async () => {
    // The time limit passes when the thread has begun: however long its start takes.
    let pass: Cancel = () => undefined;
    const clock: Clock = {
      now: () => 0,
      after: (_ms, action) => {
        pass = action;
        return () => undefined;
      },
    };
    const endless = `
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', () => { for (;;) {} });
    `;
    const parser = parserOf({ clock, program: programOf(endless) });
    for (let turn = 0; turn < 2; turn++) {
      const parsing = parser.parse({ text: long, ...origin });
      await new Promise((resolve) => setImmediate(resolve));
      pass();
      await expect(parsing).rejects.toThrow(new ManifestParserError('manifest-parser', 'not parsed within 30 s'));
    }
    expect((await parser.parse({ text: manifestOf('short'), ...origin })).pods).toHaveLength(1);
  });

  test('that fails, or ends by itself, is an error of its manifest', async () => {
    const failing = parserOf({ program: programOf(`throw new Error('out of memory');`) });
    await expect(failing.parse({ text: long, ...origin })).rejects.toThrow('out of memory');
    const ending = parserOf({ program: programOf(`process.exit(0);`) });
    await expect(ending.parse({ text: long, ...origin })).rejects.toThrow('the thread that parsed it has ended');
  });
});

test('hundreds of short manifests leave turns for other work', async () => {
  const parser = parserOf();
  let turns = 0;
  let done = false;
  const count = () => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const text = manifestOf('a');
  await Promise.all(Array.from({ length: 200 }, () => parser.parse({ text, ...origin })));
  done = true;
  expect(turns).toBeGreaterThan(2);
});
