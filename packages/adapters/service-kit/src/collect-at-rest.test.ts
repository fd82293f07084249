import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isCollectionDue, youngCollector, youngGeneration } from './collect-at-rest.ts';

const MIB = 1024 * 1024;

test.each([
  ['at rest, with a large young generation', { cpuMs: 100, elapsedMs: 5_000, youngBytes: 32 * MIB }, true],
  ['at work', { cpuMs: 300, elapsedMs: 5_000, youngBytes: 32 * MIB }, false],
  ['at rest, with a small one', { cpuMs: 0, elapsedMs: 5_000, youngBytes: 2 * MIB }, false],
])('%s', (_, look, due) => {
  expect(isCollectionDue(look)).toBe(due);
});

test('a collection gives back the young generation that work has grown', async () => {
  const module = join(import.meta.dirname, 'collect-at-rest.ts');
  const program = `
    import { ${youngCollector.name}, ${youngGeneration.name} } from ${JSON.stringify(module)};
    const collect = youngCollector();
    let kept = [];
    for (let i = 0; i < 2e6; i++) {
      kept.push({ i });
      if (kept.length > 1e5) kept = [];
    }
    const grown = youngGeneration();
    // A process at rest: after a while V8 takes note of it.
    const resting = setInterval(() => {
      collect();
      if (youngGeneration() > ${4 * MIB}) return;
      clearInterval(resting);
      console.log(grown);
    }, 100);`;
  const flags = ['--max-semi-space-size=16', '--input-type=module', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '-e', program]);
  expect(Number(stdout)).toBeGreaterThan(8 * MIB);
});
