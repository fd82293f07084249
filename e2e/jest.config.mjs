import preset from '../jest.preset.mjs';

export default {
  ...preset,
  verbose: true,
  testSequencer: '<rootDir>/src/longest-first.mjs',
  globalSetup: '<rootDir>/src/keep-kernel-settings.mjs',
  globalTeardown: '<rootDir>/src/restore-kernel-settings.mjs',
};
