import preset from '../jest.preset.mjs';

// Whole nodes of real processes: the limit only ends what hangs.
export default {
  ...preset,
  testTimeout: 300_000,
  verbose: true,
  testSequencer: '<rootDir>/src/longest-first.mjs',
  globalSetup: '<rootDir>/src/keep-kernel-settings.mjs',
  globalTeardown: '<rootDir>/src/restore-kernel-settings.mjs',
};
