import { Random } from '@kubus/ports';
import { randomInt } from 'node:crypto';

/** Whether the long form of the tests runs: the environment variable KUBUS_TEST_SOAK is 1, as `./kubus test --soak` sets it. */
export const isSoak = process.env['KUBUS_TEST_SOAK'] === '1';

/** The environment variable that chooses seeds: one or several, such as `7` or `7,8,9`. */
const SEED_VARIABLE = 'KUBUS_TEST_SEED';

/**
 * The seeds that a test runs with: those of the environment variable KUBUS_TEST_SEED, or one that changes from run to run; in the
 * long form also those of `soak`. Prints how to run with the same seeds again.
 *
 * @param file the name of the test's file, for people
 * @throws Error when the variable has anything but integers from 0 on.
 */
export function testSeeds(file: string, soak: readonly number[]): readonly number[] {
  const text = process.env[SEED_VARIABLE];
  const chosen = text?.split(',').map(Number) ?? [randomInt(1, 1_000_000)];
  if (!chosen.every((seed) => Number.isSafeInteger(seed) && seed >= 0)) {
    throw new Error(`${SEED_VARIABLE}="${text ?? ''}": use integers from 0 on, separated by commas`);
  }
  const seeds = isSoak ? [...new Set([...chosen, ...soak])] : chosen;
  process.stderr.write(`${file}: the same again with ${SEED_VARIABLE}=${seeds.join(',')}\n`);
  return seeds;
}

/** As {@link testSeeds}, for a test that runs with one seed: the first. */
export function testSeed(file: string): number {
  return testSeeds(file, [])[0] ?? 1;
}

/** All items in the long form; in the quick one `count` of them, chosen by the seed. */
export function someOf<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  return isSoak ? all : new Random(seed).shuffled(all).slice(0, count);
}
