import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterLook, fullCollector } from './collect-at-rest.ts';

const MIB = 1024 * 1024;
const idle = { cpuMs: 100, elapsedMs: 5_000 };

test.each([
  ['for the fourth time', { looks: 3, workMs: 900, costMs: 200 }, idle, { looks: 4, workMs: 1_000, costMs: 200 }, true],
  ['after its start', { looks: 3, workMs: 0, costMs: 0 }, idle, { looks: 4, workMs: 100, costMs: 0 }, true],
  ['for the third time', { looks: 2, workMs: 900, costMs: 200 }, idle, { looks: 3, workMs: 1_000, costMs: 200 }, false],
  ['without much work', { looks: 9, workMs: 899, costMs: 200 }, idle, { looks: 10, workMs: 999, costMs: 200 }, false],
  ['for three minutes', { looks: 35, workMs: 0, costMs: 200 }, idle, { looks: 36, workMs: 100, costMs: 200 }, true],
  [
    'no longer',
    { looks: 9, workMs: 0, costMs: 20 },
    { ...idle, cpuMs: 250 },
    { looks: 0, workMs: 250, costMs: 20 },
    false,
  ],
])('at rest %s', (_, state, look, seen, due) => {
  expect(afterLook(state, look)).toEqual([seen, due]);
});

/** What a program prints that can `collect()`. */
async function printed(program: string, ...flags: readonly string[]): Promise<number> {
  const module = join(import.meta.dirname, 'collect-at-rest.ts');
  const prelude = `
    import { ${fullCollector.name} } from ${JSON.stringify(module)};
    const collect = ${fullCollector.name}();`;
  const argv = [...flags, '--input-type=module', '--disable-warning=ExperimentalWarning', '-e', prelude + program];
  return Number((await promisify(execFile)(process.execPath, argv)).stdout);
}

test('a collection gives back the memory that work has needed', async () => {
  const program = `
    let kept = [];
    for (let i = 0; i < 2e6; i++) {
      kept.push({ i });
      if (kept.length > 1e6) kept = [];
    }
    kept = [];
    const grown = process.memoryUsage.rss();
    collect();
    console.log(grown - process.memoryUsage.rss());`;
  expect(await printed(program, '--max-semi-space-size=16')).toBeGreaterThan(32 * MIB);
});

test('a collection drops baseline code, and the functions are what they were', async () => {
  const program = `
    import { getHeapCodeStatistics } from 'node:v8';
    const size = () => {
      const { code_and_metadata_size, bytecode_and_metadata_size } = getHeapCodeStatistics();
      return { code: code_and_metadata_size, bytecode: bytecode_and_metadata_size };
    };
    collect();
    const functions = Array.from({ length: 2e3 }, (_, i) => new Function('a', 'b', 'return [a + b, a * b, a - b, ' + i + '].at(-1)'));
    const sum = () => functions.reduce((all, one) => all + one(1, 2), 0);
    const before = sum();
    const grown = size();
    collect();
    const kept = size();
    console.log(sum() === before && kept.bytecode > grown.bytecode / 2 ? grown.code - kept.code : 'wrong');`;
  expect(await printed(program, '--always-sparkplug')).toBeGreaterThan(MIB / 2);
});
