import preset from '../../jest.preset.mjs';

// The tests of test/ start a containerd each and run containers on it.
export default { ...preset, testTimeout: 60_000 };
