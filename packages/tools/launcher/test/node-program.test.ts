import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { nodeFlags, sharedNodeFlags } from '../src/processes/node-program.ts';

/**
 * Between the two, in bytes: with the large generation V8 always reaches 32 MiB here; with the small one 4 to 6, and up to 10 while the pages of its last collection are
 * not yet given back.
 */
const SMALL_BELOW = 16 * 1024 * 1024;
/** Allocates, and prints how large the young generation was at most: on a busy machine V8 takes the program for one at rest, and shrinks it. */
const program = `
  const { getHeapSpaceStatistics } = require('node:v8');
  const size = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').physical_space_size;
  let most = 0;
  let kept = [];
  for (let i = 0; i < 2e6; i++) {
    kept.push({ i });
    if (kept.length <= 1e5) continue;
    kept = [];
    most = Math.max(most, size());
  }
  console.log(most);`;

async function grown(flags: readonly string[]): Promise<number> {
  return Number((await promisify(execFile)(process.execPath, [...flags, '-e', program])).stdout);
}

test('only the young generation of a process with several services grows under load', async () => {
  expect(await grown(nodeFlags)).toBeLessThan(SMALL_BELOW);
  expect(await grown(sharedNodeFlags)).toBeGreaterThan(SMALL_BELOW);
});
