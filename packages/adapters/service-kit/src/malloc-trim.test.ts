import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadMallocTrim } from './malloc-trim.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'kubus-malloc-trim-'));
const addon = join(folder, 'malloc-trim');

beforeAll(async () => {
  const source = join(import.meta.dirname, '../native/malloc-trim.c');
  await run('gcc', ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', addon, source]);
});
afterAll(() => rmSync(folder, { recursive: true }));

test('free pages between pieces that are in use go back to the kernel', async () => {
  const program = `
    import { readFileSync } from 'node:fs';
    import { ${loadMallocTrim.name} } from ${JSON.stringify(join(import.meta.dirname, 'malloc-trim.ts'))};
    const trim = ${loadMallocTrim.name}(${JSON.stringify(addon)});
    let pieces = Array.from({ length: 40_000 }, () => Buffer.allocUnsafeSlow(2_000).fill(1));
    const kept = pieces.filter((_, at) => at % 100 === 0);
    pieces = [];
    // The second collection waits until what the first one has freed is back in malloc's heap.
    globalThis.gc();
    globalThis.gc();
    const rss = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1]) / 1_024;
    const before = rss();
    trim();
    console.log(before - rss(), kept.every((piece) => piece.every((byte) => byte === 1)));`;
  const flags = ['--expose-gc', '--input-type=module', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await run(process.execPath, [...flags, '-e', program]);
  const [mib, intact] = stdout.trim().split(' ');
  expect(Number(mib)).toBeGreaterThan(32);
  expect(intact).toBe('true');
});

test('a file that is no addon is an error that names field and file', () => {
  const other = join(folder, 'other');
  writeFileSync(other, 'no library');
  for (const file of [other, join(folder, 'missing')]) {
    expect(() => loadMallocTrim(file)).toThrow(`mallocTrim: cannot load ${file}`);
  }
});
