import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterLook, fullCollector } from './collect-at-rest.ts';

const MIB = 1024 * 1024;
const idle = { cpuMs: 100, elapsedMs: 5_000, ownBytes: 200 * MIB };

test.each([
  ['for the fourth time', { looks: 3, keptBytes: 195 * MIB }, idle, { looks: 0, due: true }],
  ['after its start', { looks: 3, keptBytes: 0 }, idle, { looks: 0, due: true }],
  ['for the third time', { looks: 2, keptBytes: 0 }, idle, { looks: 3, due: false }],
  ['with what it needs', { looks: 9, keptBytes: 197 * MIB }, idle, { looks: 10, due: false }],
  ['no longer', { looks: 9, keptBytes: 0 }, { ...idle, cpuMs: 300 }, { looks: 0, due: false }],
])('at rest %s', (_, state, look, expected) => {
  expect(afterLook(state, look)).toEqual(expected);
});

test('a collection gives back the memory that work has needed', async () => {
  const module = join(import.meta.dirname, 'collect-at-rest.ts');
  const program = `
    import { ${fullCollector.name} } from ${JSON.stringify(module)};
    const collect = ${fullCollector.name}();
    let kept = [];
    for (let i = 0; i < 2e6; i++) {
      kept.push({ i });
      if (kept.length > 1e6) kept = [];
    }
    kept = [];
    const grown = process.memoryUsage.rss();
    collect();
    console.log(grown - process.memoryUsage.rss());`;
  const flags = ['--max-semi-space-size=16', '--input-type=module', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '-e', program]);
  expect(Number(stdout)).toBeGreaterThan(32 * MIB);
});
