import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { KubusError, Random } from '@kubus/ports';
import { fuzz } from '../src/fuzz.ts';
import { targets } from '../src/targets.ts';

const isSoak = process.env['KUBUS_TEST_SOAK'] === '1';
/** Seconds for each parser: its seeds and a little more, or ten minutes. */
const seconds = isSoak ? 600 : 0.3;
const seed = process.env['KUBUS_TEST_SEED'] ?? String(Date.now() % 1_000_000);

async function run(program: string, ...args: readonly string[]): Promise<{ code: number; printed: string }> {
  const found = await mkdtemp(join(tmpdir(), 'kubus-fuzz-found-'));
  const file = resolve(import.meta.dirname, program);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KUBUS_FUZZ_FOUND: found },
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number]>]);
  // The inputs that were found are needed by whoever looks into it.
  if (code === 0) await rm(found, { recursive: true });
  return { code, printed };
}

test.each(isSoak ? Object.keys(targets).map((name) => [name]) : [Object.keys(targets)])(
  '%s: whatever is given is read or refused',
  async (...names) => {
    const { code, printed } = await run('../src/main.ts', ...names, '--seconds', String(seconds), '--seed', seed);
    expect([code, printed]).toEqual([0, expect.any(String)]);
    for (const name of names) {
      expect(printed).toMatch(new RegExp(`^${name}: \\d+ inputs, [1-9]\\d* blocks, [1-9]\\d* seeds, 0 findings`, 'm'));
    }
  },
);

test('inputs are led by the code that they reach: an error behind three conditions is found', async () => {
  const { printed } = await run('planted-process.ts', seed);
  expect(printed).toMatch(/^Kub TypeError: found/);
});

test('a refusal is no finding', async () => {
  const read = () => {
    throw new KubusError('refused', 'refused');
  };
  const { findings, inputs } = await fuzz(
    { about: 'all is refused', read },
    { seeds: [Buffer.alloc(1)], random: new Random(1), until: 0 },
  );
  expect([findings, inputs]).toEqual([[], 1]);
});
