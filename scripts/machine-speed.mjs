// How fast this machine starts processes: what the time of the tests depends on most.
import { spawnSync } from 'node:child_process';

/** How long the start and end of a process takes on the machine for which the limit of scripts/test.mjs was set, in milliseconds. */
const USUAL_MS = 2;
const STARTS = 50;

/** The factor by which this machine is slower than that one; 1 for a faster one. */
export function slowness() {
  const took = Array.from({ length: STARTS }, () => {
    const began = performance.now();
    spawnSync('true');
    return performance.now() - began;
  });
  return Math.max(1, took.sort((a, b) => a - b)[STARTS / 2] / USUAL_MS);
}
