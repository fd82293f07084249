// Shared by every package's jest.config.mjs. Sources run as they are: Node strips the types, nothing is compiled.
import { fileURLToPath } from 'node:url';

export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/{src,test}/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': fileURLToPath(new URL('scripts/strip-types.mjs', import.meta.url)) },
  // pnpm's links point at packages/*, so no transformed file lies under node_modules.
  transformIgnorePatterns: ['/node_modules/'],
  injectGlobals: false,
  restoreMocks: true,
  // Only ends what hangs: how long something may take on a busy machine is no test's business.
  testTimeout: 240_000,
  // Node now and then spins for ever in the cleanup of its own handles when everything is over.
  forceExit: true,
};
