import { expect, test } from '@jest/globals';
import { mergedDevices } from '../src/index.ts';

const mount = (containerPath: string, hostPath: string) => ({ containerPath, hostPath, readOnly: true });
const device = (containerPath: string, hostPath: string) => ({ containerPath, hostPath, permissions: 'rw' });

test('settings of several plugins are merged, and the first one takes precedence', () => {
  const first = {
    envs: { A: '1', B: '1' },
    mounts: [mount('/a', '/1')],
    devices: [device('/dev/a', '/dev/1')],
    annotations: { a: '1' },
    cdiDevices: ['v.example/c=1'],
  };
  const second = {
    envs: { B: '2', C: '2' },
    mounts: [mount('/a', '/2'), mount('/b', '/2')],
    devices: [device('/dev/a', '/dev/2'), device('/dev/b', '/dev/2')],
    annotations: { a: '2', b: '2' },
    cdiDevices: ['v.example/c=1', 'v.example/c=2'],
  };
  expect(mergedDevices([first, second])).toEqual({
    envs: { A: '1', B: '1', C: '2' },
    mounts: [mount('/a', '/1'), mount('/b', '/2')],
    devices: [device('/dev/a', '/dev/1'), device('/dev/b', '/dev/2')],
    annotations: { a: '1', b: '2' },
    cdiDevices: ['v.example/c=1', 'v.example/c=2'],
  });
});
