// Replaces fast-check in every test (jest.preset.mjs): each property starts from the seed of the whole run, and the soak runs
// many times as many cases.
import * as original from '../node_modules/fast-check/lib/fast-check.js';

/** The factor by which the soak multiplies the cases of a property. */
const SOAK = 20;
const soak = process.env.KUBUS_TEST_SOAK === '1';
const seed = process.env.KUBUS_TEST_SEED;

/** Defaults to fast-check's own; a test's own number takes precedence, apart from the factor of the soak. */
export function assert(property, parameters = {}) {
  return original.assert(property, {
    ...(seed !== undefined && { seed: Number(seed) }),
    ...parameters,
    ...(soak && parameters.path === undefined && { numRuns: SOAK * (parameters.numRuns ?? 100) }),
  });
}

/** Any code point but surrogates. fast-check's own unit `binary` makes a table of all of them first, for two seconds in each file. */
const codePoint = original
  .oneof(original.integer({ min: 0, max: 0xd7ff }), original.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point));

export function string(constraints = {}) {
  return original.string(constraints.unit === 'binary' ? { ...constraints, unit: codePoint } : constraints);
}

export * from '../node_modules/fast-check/lib/fast-check.js';
export default { ...original, assert, string };
