import preset from '../../jest.preset.mjs';

// The longest of all tests: it has both cores when the others are through.
export default { ...preset, maxWorkers: 2 };
