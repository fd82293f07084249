// Shared by every package's jest.config.mjs. Sources run directly: Node.js strips the types, nothing is compiled. It has no option
// that Jest accepts only for a whole run (such as forceExit): scripts/test.mjs runs many packages at once.
import { fileURLToPath } from 'node:url';

export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/{src,test}/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^fast-check$': fileURLToPath(new URL('scripts/fast-check.mjs', import.meta.url)) },
  transform: { '\\.ts$': fileURLToPath(new URL('scripts/strip-types.mjs', import.meta.url)) },
  // pnpm's links point at packages/*, so no transformed file lies under node_modules.
  transformIgnorePatterns: ['/node_modules/'],
  injectGlobals: false,
  restoreMocks: true,
  // Only ends tests that hang: no test checks how long something takes on a busy machine.
  testTimeout: process.env.KUBUS_TEST_SOAK === '1' ? 1_800_000 : 600_000,
};
