import { expect, test } from '@jest/globals';
import { machineWarnings } from './machine-warnings.ts';

const old = { swapBytes: 4096, kernelVersion: '6.3.0' };

test.each([
  [2, { ...old, swapBytes: 0 }, []],
  [2, { ...old, kernelVersion: '6.4.0-1-amd64' }, []],
  [2, old, ['PossibleMemoryBackedVolumesOnDisk']],
  [1, { ...old, swapBytes: 0 }, ['CgroupV1']],
  [1, old, ['CgroupV1', 'PossibleMemoryBackedVolumesOnDisk']],
] as const)('a machine with cgroup v%s and %j has the warnings %j', (cgroupVersion, machine, expected) => {
  const warnings = machineWarnings({ cgroupVersion }, machine);
  expect(warnings.map(({ reason }) => reason)).toEqual(expected);
  for (const { type, message } of warnings) {
    expect(type).toBe('Warning');
    expect(message).toMatch(/^(cgroup v1 detected\. |The tmpfs noswap option is not supported\. )/);
  }
});
