import preset from '../../jest.preset.mjs';

// Real processes on a machine that may be busy: the limit only ends what hangs.
export default { ...preset, testTimeout: 60_000 };
