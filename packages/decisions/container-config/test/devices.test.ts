import { expect, test } from '@jest/globals';
import { volumeDevices } from '../src/devices.ts';
import { thrown } from './thrown.ts';

const volumes = new Map([
  ['disk', { hostPath: '/v/disk', device: true }],
  ['fixed', { hostPath: '/v/fixed', device: true, readOnly: true }],
  ['data', { hostPath: '/v/data' }],
]);
const devices = (name: string, devicePath: string) =>
  volumeDevices({ name: 'c', volumeDevices: [{ name, devicePath }] }, { volumes });

test.each([
  ['disk', 'mrw'],
  ['fixed', 'r'],
])('a container gets the device of volume %s with the permissions %s', (name, permissions) => {
  expect(devices(name, '/dev/xvda')).toEqual([{ containerPath: '/dev/xvda', hostPath: `/v/${name}`, permissions }]);
});

test.each([
  ['disk', 'dev/xvda', 'error DevicePath `dev/xvda` must be an absolute path'],
  ['data', '/dev/xvda', 'cannot find volume "data" to pass into container "c"'],
  ['none', '/dev/xvda', 'cannot find volume "none" to pass into container "c"'],
])('volume %s at %s is refused', (name, path, message) => {
  expect(thrown(() => devices(name, path))).toMatchObject({ message, code: 'CreateContainerConfigError' });
});
