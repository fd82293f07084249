import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { nodeFlags, sharedNodeFlags } from '../src/processes/node-program.ts';

const MIB = 1024 * 1024;
/** Allocates, and prints how large the young generation has become. */
const program = `
  let kept = [];
  for (let i = 0; i < 2e6; i++) {
    kept.push({ i });
    if (kept.length > 1e5) kept = [];
  }
  const spaces = require('node:v8').getHeapSpaceStatistics();
  console.log(spaces.find((space) => space.space_name === 'new_space').physical_space_size);`;

async function grown(flags: readonly string[]): Promise<number> {
  return Number((await promisify(execFile)(process.execPath, [...flags, '-e', program])).stdout);
}

test('only the young generation of a process with several services grows under load', async () => {
  expect(await grown(nodeFlags)).toBeLessThan(4 * MIB);
  expect(await grown(sharedNodeFlags)).toBeGreaterThan(8 * MIB);
});
