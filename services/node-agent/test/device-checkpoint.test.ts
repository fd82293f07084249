// The reference kubelet's checkpoint of devices, read and written by the service.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { deviceCheckpoint, parseDeviceCheckpoint } from '@kubus/device-manager';
import { encodeAnswer } from '@kubus/node-plugins';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DeviceRig, RESOURCE, counted, refOf } from './device-rig.ts';

let rig: DeviceRig;
beforeEach(() => {
  rig = new DeviceRig();
});
afterEach(() => rig.remove());

const file = () => join(rig.dir, 'plugins', 'kubelet_internal_checkpoint');
const content = () => {
  const found = parseDeviceCheckpoint(readFileSync(file(), 'utf8'));
  if ('problem' in found) throw new Error(found.problem);
  return found;
};
/** Device `a` is that of the pod `one`, and its plugin has answered with an environment variable. */
const left = () => {
  const answer = encodeAnswer({
    ...{ envs: { TEST_DEVICES: 'given by the reference' }, annotations: { 'example.com/a': '1' } },
    ...{ mounts: [{ containerPath: '/c', hostPath: '/h', readOnly: true }], devices: [], cdiDevices: ['x/y=z'] },
  });
  const entry = {
    pod: 'one',
    container: 'main',
    resource: RESOURCE,
    devices: [{ id: 'a', numaNodes: [0, 1] }],
    answer,
  };
  mkdirSync(join(rig.dir, 'plugins'), { recursive: true });
  writeFileSync(file(), deviceCheckpoint({ entries: [entry], resources: { [RESOURCE]: ['a', 'b'] } }));
  return entry;
};

test('the checkpoint says what its pods have, and then what those of this agent have', async () => {
  const entry = left();
  await rig.start();
  expect(rig.resources.get(RESOURCE)).toMatchObject({ gone: false, devices: [] });
  expect(await rig.ask('one', [counted('main', 1)])).toEqual({ main: 'given by the reference' });
  expect(rig.allocations.get('one')).toEqual({
    ref: refOf('one'),
    containers: [
      { name: 'main', resources: [{ resource: RESOURCE, devices: [{ id: 'a', topology: { numaNodes: [0, 1] } }] }] },
    ],
  });
  const plugin = await rig.plug(['a', 'b']);
  expect(await rig.ask('two', [counted('main', 1)])).toEqual({ main: 'b' });
  expect(await plugin.requests('allocate')).toHaveLength(1);
  const [one, two] = content().entries;
  expect(one).toEqual(entry);
  expect(two).toMatchObject({ pod: 'two', container: 'main', resource: RESOURCE, devices: [{ id: 'b' }] });
  expect(content().resources).toEqual({ [RESOURCE]: ['a', 'b'] });
});

test('the checkpoint is newer than this agent’s records, and keeps devices of pods without any', async () => {
  await rig.start();
  await rig.plug(['a', 'b', 'c'], { preferred: ['c'] });
  await rig.ask('one', [counted('main', 1)]);
  await rig.stop();
  left();
  await rig.start();
  await rig.until(() => rig.resources.get(RESOURCE)?.devices.length === 3);
  expect(await rig.ask('one', [counted('main', 1)])).toEqual({ main: 'given by the reference' });
  expect(await rig.ask('two', [counted('main', 1)])).toEqual({ main: 'c' });
  await rig.stop();
  rmSync(join(rig.dir, 'state'), { recursive: true });
  await rig.start();
  expect(await rig.ask('one', [counted('main', 1)])).toEqual({ main: 'given by the reference' });
  expect(await rig.ask('two', [counted('main', 1)])).toEqual({ main: 'c' });
});

test('a damaged checkpoint is replaced by what this agent’s records say', async () => {
  await rig.start();
  const plugin = await rig.plug(['a', 'b']);
  const given = await rig.ask('one', [counted('main', 1)]);
  await rig.stop();
  const whole = content();
  writeFileSync(file(), readFileSync(file(), 'utf8').replace('"one"', '"two"'));
  expect(() => content()).toThrow('checkpoint is corrupted');
  await rig.start();
  expect(await rig.ask('one', [counted('main', 1)])).toEqual(given);
  await plugin.register();
  await rig.until(() => rig.resources.get(RESOURCE)?.gone === false);
  await rig.ask('two', [counted('main', 1)]);
  expect(content().entries).toEqual([...whole.entries, expect.objectContaining({ pod: 'two' })]);
});
